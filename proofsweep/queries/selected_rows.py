# ruff: noqa: S608 - the SQL is made of our own names and of quoted text
"""The files that a command speaks of: those of one run, or each as it stands now. Lists and pages are of them.

Those that need attention are put together by what is wrong with them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any, Self

import duckdb

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row
from proofsweep.domain.reasons import HINDERS_NOTHING, Reason, about, reason_entries
from proofsweep.domain.runs import OUTCOMES, Plan
from proofsweep.domain.tags import key_of_tag, known_tag, spellings_by_key, tag_named
from proofsweep.queries.connection import answering
from proofsweep.queries.status import NEED_ATTENTION, environment_in
from proofsweep.queries.views import key_of, spelling_of, value_of_tag, with_views
from proofsweep.store.parts import Results
from proofsweep.store.sql import quoted

_COLUMNS = """
    item_id, file, state, is_covered, outcome, reason, finished_at, manifest_line, audio, tags, moved_to, identities,
    NULL::DATE AS open_since
"""
_OF_RUN = """
    SELECT
        *, outcome AS state, outcome <> 'failed' AS is_covered, NULL::VARCHAR AS moved_to, []::VARCHAR[] AS identities
    FROM verdicts WHERE run_id = {run_id}
"""
_SILENT_REASONS = [reason for reason, entry in reason_entries().items() if not entry.tells_supplier]
_SILENT = ", ".join(map(quoted, _SILENT_REASONS))
# A supplier hears of a file that is wrong, or that is absent though a message of a delivery names it.
_IS_TOLD = f"""
    coalesce(state IN ('rejected', 'ineligible') AND (
        reason NOT IN ({_SILENT}) OR (reason = '{Reason.MISSING_AUDIO}' AND json_exists(tags, '$.message_id'))
    ), false)
"""
_STANDING = """
    SELECT item_id FROM catalog WHERE list_contains($1::VARCHAR[], outcome) OR list_contains($1::VARCHAR[], reason)
"""
_TAG_NAMES = """
    SELECT name
    FROM (
        SELECT unnest(names) AS name, unnest(range(len(names))) AS place
        FROM (SELECT DISTINCT json_keys(tags) AS names FROM files WHERE json_valid(tags))
    )
    GROUP BY name ORDER BY min(place), name
"""
_OF_ROWS = f"""
    verdict, detail, http_status, error_code, audio_bytes, sidecar, audio_sha256, proof_id, uploads_request_id,
    verify_request_id, run_id, leg, manifest_row, {_IS_TOLD} AS is_told
"""
_FETCHED = 5_000  # rows in memory at once


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedRows:
    """A choice of files; rows of two environments are never mixed."""

    results: Results
    environment: str
    plan: Plan | None = None  # the run; None for how each file stands now

    @classmethod
    def of(cls, results: Results, run_id: str | None, environment: str) -> Self:
        """Choose the files of a run; without one, how each file stands now in an environment, or the only one.

        ResultsError if there is no such run, if it was pruned, or if it is not clear which environment is meant.
        """
        if run_id is None:
            meant = environment_in(results, results.log.runs().environments, environment)
            return cls(results=results, environment=meant)
        plan = results.plan(run_id)
        prunings = results.prunings_of(run_id)
        if prunings:
            day = prunings[-1].decided_at[:10]
            raise ResultsError(
                f"Run {run_id} was pruned on {day}: its rows are gone. Leave out the run for the newest answers; "
                "its counts are in `proofsweep status`."
            )
        return cls(results=results, environment=plan.environment, plan=plan)

    @contextmanager
    def opened(self, condition: str = "true", *views: str, has_rows: bool = False) -> Iterator["ChosenFiles"]:
        """Open those files that a condition of SQL chooses, by the columns of `catalog`, and further views.

        For counts and groups they have few columns; if they are read as rows, all.
        """
        source, name = "FROM catalog", "catalog"
        if self.plan is not None:
            run_id = quoted(self.plan.run_id)
            source, name = _OF_RUN.format(run_id=run_id), "verdicts"
        with answering(self.results, [self.environment], name, *views) as connection:
            columns = f"{_COLUMNS}, {_OF_ROWS}" if has_rows else _COLUMNS
            # A table and no view: a page asks a dozen questions about the same files, and each one would go through
            # the whole store again.
            chosen = f"{with_views(name)} SELECT {columns} FROM ({source}) WHERE {condition}"
            connection.execute(f"CREATE TEMP TABLE files AS {chosen}")
            yield ChosenFiles(connection)


@dataclass(frozen=True, slots=True)
class ChosenFiles:
    """The chosen files, as the table `files` of a connection: there may be more than fit into memory."""

    connection: duckdb.DuckDBPyConnection

    def spellings(self) -> dict[str, list[str]]:
        """Return the names of the tags in the order of the catalogs, by what their spellings have in common."""
        found = self.connection.execute(_TAG_NAMES).fetchall()
        return spellings_by_key(name for (name,) in found)

    def tag_values(self, wanted: Sequence[str] = (), usual: Sequence[str] = ()) -> dict[str, str]:
        """Return the SQL of each wanted tag's value, and of the usual ones that some file has.

        UsageError, which names the tags that there are, if no file has a wanted one; without files there is none.
        """
        if not self.connection.execute("FROM files LIMIT 1").fetchall():
            return {}
        spellings = self.spellings()
        known = [names[0] for names in spellings.values()]
        tags = [known_tag(name, known) for name in wanted]
        for name in usual:
            tag = tag_named(name, known)
            if tag is not None:
                tags.append(tag)
        values: dict[str, str] = {}
        for tag in tags:
            own_spellings = spellings[key_of_tag(tag)]
            values[tag] = value_of_tag(own_spellings)
        return values

    def counts_by(self, value: str) -> list[tuple[str, str, int]]:
        """Count the files by the key of a value, as the SQL of a tag gives it: key, one spelling, files; by keys."""
        key, spelling = _key(value), spelling_of(value)
        # Not by ALL: a key may be constant.
        query = f"SELECT {key} AS key, coalesce({spelling}, ''), count(*) FROM files GROUP BY key ORDER BY key"
        return self.connection.execute(query).fetchall()

    def keep(self, value: str, key: str) -> None:
        """Leave out the files whose value of a tag has another key."""
        own_key = _key(value)
        self.connection.execute(f"DELETE FROM files WHERE {own_key} <> ?", [key])

    def rows_by(self, columns: Sequence[str], value: str = "''") -> Iterator[tuple[str, Row]]:
        """Yield the files, each with the key of a value: by keys, and then in the order of their runs and catalogs.

        They must have been opened with rows. They are read once, however many keys there are.
        """
        listed = ", ".join(columns)
        chosen = f"SELECT {listed}, {_key(value)} AS key FROM files"
        in_order = f"{chosen} ORDER BY key, run_id, leg, manifest_row, item_id"
        for batch in self.connection.sql(in_order).to_arrow_reader(_FETCHED):
            for row in batch.to_pylist():
                yield str(row.pop("key")), row


def having(outcomes: Sequence[str], *, is_told: bool = False) -> str:
    """Return the condition for files with some outcomes, perhaps only for those of which a supplier hears."""
    words = ", ".join(map(quoted, outcomes))
    condition = f"state IN ({words})"
    return f"{condition} AND {_IS_TOLD}" if is_told else condition


def _key(value: str) -> str:
    return f"coalesce({key_of(value)}, '')"


def items_standing(results: Results, environment: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the ID of each item whose outcome or reason is one of these words, as it stands now in an environment."""
    query = with_views("catalog") + _STANDING
    with answering(results, [environment], "catalog") as connection:
        answer = connection.sql(query, params=[list(words)])
        for batch in answer.to_arrow_reader(_FETCHED):
            yield from map(str, batch["item_id"].to_pylist())


_HARMLESS = ", ".join(map(quoted, HINDERS_NOTHING))
IS_OPEN = f"{having(NEED_ATTENTION)} AND coalesce(reason, '') NOT IN ({_HARMLESS})"
_NO_VALUE = "NULL::VARCHAR"
_GROUPS = """
    SELECT
        min({spelling}) OVER (PARTITION BY nullif({key}, '')), outcome, coalesce(reason, '') AS code, count(*),
        arg_min(
            struct_pack(
                file := coalesce(file, ''), audio := audio, item_id := item_id, line := manifest_line,
                day := open_since, tags := [{shown}]::VARCHAR[]
            ),
            (coalesce(file, ''), item_id), {most}
        )
    FROM files WHERE {is_open}
    GROUP BY nullif({key}, ''), outcome, code
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    """A file of a list; one that changed has the outcome and reason that are worth telling."""

    file: str  # its name from the catalog's root, else its location
    audio: str | None
    item_id: str
    tags: Sequence[str | None]  # its values of the tags that are shown, in their order
    line: str | None = None  # the manifest and the line; None in a folder
    cause: str | None = None  # of its change
    day: date | None = None  # since when it is open, or of the run that changed it, or that had it last
    moved_to: str | None = None
    was: str | None = None  # what a file that changed its place was called before
    outcome: str = ""
    reason: str | None = None


def shown_files(structs: Iterable[Mapping[str, Any]]) -> list[ShownFile]:
    """Return the files of a list that DuckDB has put together, as its structs with the same names."""
    return [ShownFile(**struct) for struct in structs]


@dataclass(frozen=True, slots=True)
class AttentionGroup:
    """Files with the same outcome and reason, and the same value of a tag if they are put apart by one."""

    value: str | None  # of the tag; None if the files have no such tag, or are not put apart
    outcome: str
    reason: str
    rows: int  # how many there are
    files: Sequence[ShownFile]  # the first ones by their names

    @property
    def in_words(self) -> str:
        return about(self.reason).plain

    @property
    def what_to_do(self) -> str:
        return about(self.reason).remedy


def attention_groups(
    files: ChosenFiles, *, most_files: int, by: str | None = None, shown: Mapping[str, str] | None = None
) -> list[AttentionGroup]:
    """Read the groups; `by` is the tag that puts them apart, `shown` the SQL of the tags of each file, by name.

    UsageError if no file has the tag.
    """
    value = _NO_VALUE
    if by:
        values = files.tag_values([by])  # none if there are no files
        value = next(iter(values.values()), _NO_VALUE)
    tags = shown or {}
    columns = ", ".join(tags.values())
    spelling, key = spelling_of(value), key_of(value)
    query = _GROUPS.format(spelling=spelling, key=key, shown=columns, most=most_files, is_open=IS_OPEN)
    groups: list[AttentionGroup] = []
    for value_of_group, outcome, reason, rows, first in files.connection.execute(query).fetchall():
        group = AttentionGroup(value_of_group, outcome, reason, rows, shown_files(first))
        groups.append(group)
    return sorted(groups, key=_in_order)


def _in_order(group: AttentionGroup) -> tuple[bool, str, int, int, str]:
    """Put the files of one value together, those without it last; of each value, what most files have comes first."""
    outcome = OUTCOMES.index(group.outcome)
    return group.value is None, group.value or "", outcome, -group.rows, group.reason
