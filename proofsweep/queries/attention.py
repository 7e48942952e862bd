"""The files that need attention, by what to do about them: all are counted, the first of each kind are listed."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING

import duckdb

from proofsweep.config.locations import path_of, path_within
from proofsweep.domain.items import proof_id_of
from proofsweep.domain.outcomes import OUTCOMES
from proofsweep.domain.reasons import AtFault, about, plain_words_for, remedy_for
from proofsweep.domain.tags import key_of_tag, key_of_value, known_tag, spellings_by_key, tag_named, tag_of
from proofsweep.domain.text import printable
from proofsweep.domain.verdicts import Verdict
from proofsweep.queries.status import NEED_ATTENTION, NamedFile, RunStatus
from proofsweep.queries.views import value_of_tag
from proofsweep.store.parts import Results

if TYPE_CHECKING:
    from proofsweep.queries.selected_rows import SelectedRows

_FEW_PARTS = 6  # that are read to name a few files of a run
_MOST_NAMED = 10  # files of a summary
_NAMED = ("outcome", "reason", "manifest_row", "item_id")


@dataclass(slots=True, kw_only=True)
class AttentionGroup:
    """Files with the same outcome and reason, and the same value of a tag if one was asked for."""

    value: str | None  # of the tag; None if the files have no such tag, or none was asked for
    outcome: str
    reason: str
    is_alone: bool = False  # whether they came without a sidecar
    is_given_up: bool = False  # whether passes over a watched folder have tried them as often as they do
    rows: int = 0  # how many there are
    files: list[str] = field(default_factory=list)  # the first ones, as seen from the catalog's root
    lines: list[str] = field(default_factory=list)  # of each of these, the manifest and the line; empty in a folder

    @property
    def in_words(self) -> str:
        return plain_words_for(self.outcome, self.reason)

    @property
    def what_to_do(self) -> str:
        given_up = "; given up: no pass tries it again before it is delivered anew" if self.is_given_up else ""
        return remedy_for(self.reason, is_alone=self.is_alone) + given_up


def attention_groups(
    selected: "SelectedRows", most_files: int, tag: str | None = None, given_up: Collection[str] = ()
) -> list[AttentionGroup]:
    """Count rows by kind and a tag's values, the largest first, with some names; UsageError if no row has the tag."""
    groups: dict[tuple[str | None, str, str, bool, bool], AttentionGroup] = {}
    spellings: dict[str, str] = {}
    columns = ["audio", "sidecar", "relative_path", "manifest_line", "outcome", "reason", "item_id"]
    columns += ["tags"] if tag else []
    known: dict[str, None] = {}
    for _, table in selected.tables(columns):
        for row in table.to_pylist():
            tags = json.loads(row["tags"] or "{}") if tag else {}
            known |= dict.fromkeys(tags)
            value = None if tag is None else tag_of(tags, tag)
            key = None if value is None else key_of_value(value)
            if value is not None and key is not None:
                spellings[key] = min(value, spellings.get(key, value))
            outcome, reason = row["outcome"], row["reason"] or ""
            is_given_up = outcome != "rejected" and row["item_id"] in given_up
            is_alone = reason == Verdict.UNREADABLE and row["sidecar"] is None
            group = AttentionGroup(value=key, outcome=outcome, reason=reason, is_alone=is_alone)
            group = groups.setdefault((key, outcome, reason, is_alone, is_given_up), group)
            group.is_given_up = is_given_up
            group.rows += 1
            if len(group.files) < most_files:
                group.files.append(row["relative_path"] or row["audio"] or "")
                group.lines.append(row["manifest_line"] or "")
    if tag and groups:
        known_tag(tag, known)
    for group in groups.values():
        group.value = None if group.value is None else spellings[group.value]
    return sorted(
        groups.values(),
        key=lambda each: (each.value is None, each.value or "", OUTCOMES.index(each.outcome), -each.rows, each.reason),
    )


def named_files(results: Results, run: RunStatus) -> list[NamedFile]:
    plan, found = run.plan, list[NamedFile]()
    root = "" if plan.catalog_root is None else path_of(plan.catalog_root, "/")
    names = results.parts_of("verdicts", plan) if any(map(run.rows, NEED_ATTENTION)) else []
    for name in names[:_FEW_PARTS]:
        table = results.table("verdicts", [name], ["audio", "relative_path", *_NAMED])
        for row in table.sort_by("manifest_row").to_pylist():
            if row["outcome"] in NEED_ATTENTION:
                is_file = proof_id_of(row["audio"]) is None  # Prefect keeps what is named here: no proof ID
                named = (row["audio"] or row["relative_path"] or "") if is_file else row["item_id"]
                audio = path_within(named, root) if root else named
                found.append(NamedFile(audio, row["outcome"], row["reason"] or ""))
                if len(found) == _MOST_NAMED:
                    return found
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChoice:
    catalog: str | None = None  # of a catalog page, the location of the one catalog; None for all of the environment
    tags: Sequence[str] = ()  # each has a column in the list of files that need attention, and a table of its values
    usual_tag: str | None = None  # shown if none is chosen and some file has it
    since: date | None = None  # of a catalog page, the UTC day since when to count what changed, beside the last run


# ruff: noqa: S608 - the SQL is made of our own names and of quoted text


MOST_OF_A_REASON = 200  # files
_LONGEST_NAME, _LONGEST_VALUE = 120, 60  # letters


@dataclass(frozen=True, slots=True)
class ReasonCount:
    outcome: str
    code: str
    files: int

    @property
    def plain(self) -> str:
        return plain_words_for(self.outcome, self.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionRow:
    folder: str  # of its name, with the `/` at its end; empty if it has none
    name: str
    code: str
    values: Sequence[str]
    request_id: str | None
    since: datetime | None


@dataclass(slots=True)
class Kind:
    what_to_do: str
    reasons: list[ReasonCount] = field(default_factory=list)
    shown: list[AttentionRow] = field(default_factory=list)

    @property
    def files(self) -> int:
        return sum(reason.files for reason in self.reasons)

    @property
    def has_requests(self) -> bool:
        """Whether the partner is asked about them, who needs their request IDs."""
        return any(about(reason.code).at_fault is AtFault.SERVICE for reason in self.reasons)


def kinds_of(connection: duckdb.DuckDBPyConnection, relation: str, tags: Mapping[str, Sequence[str]]) -> list[Kind]:
    """Read the kinds of a relation with the columns of `items`, the largest first; `tags` are spellings by tag."""
    counted = connection.execute(
        f"SELECT outcome, coalesce(reason, ''), count(*) FROM {relation} GROUP BY ALL ORDER BY 3 DESC, 1, 2"
    )
    kinds: dict[str, Kind] = {}
    for outcome, code, files in counted.fetchall():
        kinds.setdefault(remedy_for(code), Kind(remedy_for(code))).reasons.append(ReasonCount(outcome, code, files))
    found = connection.execute(
        f"SELECT coalesce(file, ''), audio, item_id, coalesce(reason, ''), verify_request_id, since{tag_values(tags)} "
        f"FROM {relation} QUALIFY row_number() OVER (PARTITION BY outcome, reason ORDER BY file, item_id) "
        f"<= {MOST_OF_A_REASON} ORDER BY file, item_id"
    )
    for file, audio, item_id, code, request_id, since, *values in found.fetchall():
        folder, name = shown_name(file, audio, item_id)
        kinds[remedy_for(code)].shown.append(
            AttentionRow(folder=folder, name=name, code=code, values=_short(values), request_id=request_id, since=since)
        )
    return sorted(kinds.values(), key=lambda kind: -kind.files)


def spellings_of(connection: duckdb.DuckDBPyConnection, choice: PageChoice) -> dict[str, Sequence[str]]:
    """Return the chosen tags of the table `items`, each with its spellings; UsageError if no row has one of them."""
    if not choice.tags and choice.usual_tag is None:
        return {}
    query = "SELECT DISTINCT unnest(json_keys(tags)) FROM items WHERE json_valid(tags) ORDER BY ALL"
    known = [tag for (tag,) in connection.execute(query).fetchall()]
    usual = [] if choice.usual_tag is None else [tag_named(choice.usual_tag, known)]
    names = [known_tag(tag, known) for tag in choice.tags] or [tag for tag in usual if tag is not None]
    spellings = spellings_by_key(known)
    return {name: spellings[key_of_tag(name)] for name in names}


def tag_values(tags: Mapping[str, Sequence[str]]) -> str:
    return "".join(f", {value_of_tag(spellings)}" for spellings in tags.values())


def shown_name(file: str, audio: str | None, item_id: str) -> tuple[str, str]:
    """Return a file's folder and name on one line; of a very long one the end. A proof ID is not for a page."""
    is_file = audio is None or proof_id_of(audio) is None
    line = printable(file if is_file and file else item_id)
    short = line if len(line) <= _LONGEST_NAME else "…" + line[-_LONGEST_NAME:]
    folder, slash, name = short.rstrip("/").rpartition("/")
    return folder + slash, name


def _short(values: Iterable[str | None]) -> list[str]:
    lines = [printable(value or "") for value in values]
    return [line if len(line) <= _LONGEST_VALUE else line[: _LONGEST_VALUE - 1] + "…" for line in lines]
