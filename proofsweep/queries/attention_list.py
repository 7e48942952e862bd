# ruff: noqa: S608 - the SQL is made of our own names and of quoted text
"""The files that need attention, by what to do about them: all are counted, the first of each kind are listed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import duckdb

from proofsweep.domain.items import proof_id_of
from proofsweep.domain.reason_entries import AtFault
from proofsweep.domain.reasons import about, plain_words_for, remedy_for
from proofsweep.domain.tags import key_of_tag, known_tag, spellings_by_key, tag_named
from proofsweep.domain.text import printable
from proofsweep.queries.choice import PageChoice
from proofsweep.queries.views import value_of_tag

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
