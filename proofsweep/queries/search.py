# ruff: noqa: S608 - the SQL is made of our own names and conditions; what a person gave is a parameter, or quoted
"""Search a results store, in all environments: for an item by what people know of it, for one call, or for a proof."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from proofsweep.config.locations import path_of
from proofsweep.domain.errors import CatalogError, ResultsError
from proofsweep.domain.items import PROOF_PREFIX, Row, WorkItem
from proofsweep.domain.runs import Plan
from proofsweep.domain.text import printable
from proofsweep.queries.connection import tables_of
from proofsweep.queries.views import quoted
from proofsweep.store.parts import Results
from proofsweep.store.schemas import SCHEMAS
from proofsweep.store.tables import GONE, TABLES

MOST_LISTED = 20
_BATCH_ROWS = 5_000  # calls that are in memory at once
_CALL = "call, started_at, elapsed_ms, status, error_code, failure, request_id, bytes_sent"

_CODE = "replace(replace(strip_accents(lower({})), '-', ''), ' ', '')"
_TEXT = "strip_accents(lower({}))"
_NAME = "split_part(audio, '/', -1)"
_EXACT = "audio = $location OR $wanted IN (item_id, verify_request_id)"
_FIRST = f"""
    SELECT *, count(*) OVER () AS items
    FROM (
        SELECT item_id, coalesce(relative_path, audio) AS file, outcome, verdict, reason, tags, run_id
        FROM (
            SELECT
                item_id, relative_path, audio, outcome, verdict, reason, tags, run_id, verify_request_id, entry,
                finished_at
            FROM store.newest
            UNION ALL BY NAME
            SELECT
                item_id, relative_path, coalesce(try(decode(audio)), audio::VARCHAR) AS audio, 'not sent' AS outcome,
                reason, tags, run_id, -1 AS entry
            FROM store.listing
        )
        WHERE run_id >= $oldest AND ({{condition}})
        QUALIFY row_number() OVER (PARTITION BY item_id ORDER BY entry DESC, finished_at DESC) = 1
    )
    ORDER BY file, item_id
    LIMIT {MOST_LISTED}
"""


def _in_a_tag(form: str, fits: str) -> str:
    """Compare each value of the tags; their whole text first, which is far quicker than to take it apart."""
    wanted, value = form.format("$wanted"), form.format("value")
    is_likely = f"contains({form.format('tags')}, {form.format('$as_json')}) AND {wanted} <> ''"
    values = "json_extract_string(tags, '$.*')"
    return f"{is_likely} AND len(list_filter({values}, lambda value: {fits.format(value, wanted)})) > 0"


_CONDITIONS = (
    _EXACT,
    "ends_with(audio, '/' || $wanted)",
    _in_a_tag(_CODE, "{} = {}"),
    f"contains({_TEXT.format(_NAME)}, {_TEXT.format('$wanted')})",
    _in_a_tag(_TEXT, "contains({}, {})"),
)
"""What fits better comes first: an exact name, an end of a location, a tag's value, a part of a name or of a value."""


@dataclass(frozen=True, slots=True)
class LikelyItems:
    """The items that fit what a person gave, best of all that the store has; several fit equally well."""

    items: int = 0
    rows: Sequence[Row] = ()  # the first by their files: item_id, file, outcome, verdict, reason, tags and run_id

    @property
    def only(self) -> str | None:
        return str(self.rows[0]["item_id"]) if self.items == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    plan: Plan
    manifest_row: int
    row: Row | None  # of `verdicts`; None while the row remains
    line: str | None = None  # the manifest and the line; None if it is of none
    answered_by: str | None = None  # the same, or the file, of the row whose answer was used
    exchanges: Sequence[Row]  # in the order in which they began; also those of the row whose answer was used


def rows_of_calls(manifest_row: int, row: Row | None) -> set[int]:
    """Name the rows whose calls led to a row's outcome: its own, and the one with the same bytes that was asked."""
    used = None if row is None else row["answered_by_row"]
    return {manifest_row} | ({used} if isinstance(used, int) else set())


@contextmanager
def searching(results: Results, oldest: str = "") -> Iterator["Search"]:
    with tables_of(results) as connection:
        yield Search(results, connection, oldest)


@dataclass(frozen=True, slots=True)
class Search:
    results: Results
    connection: duckdb.DuckDBPyConnection
    oldest: str  # runs and operations whose IDs sort before it are left out

    def likely(self, wanted: str) -> LikelyItems:
        """Search for answered and for listed items.

        Codes and titles are compared without case, accents, spaces and hyphens. Of several items with the very
        location, as two catalogs may have, the newest is meant.
        """
        as_json = json.dumps(wanted, ensure_ascii=False)[1:-1]
        known = {"wanted": wanted, "location": _location(wanted), "oldest": self.oldest, "as_json": as_json}
        for condition in _CONDITIONS if wanted.strip() else ():
            used = {name: value for name, value in known.items() if f"${name}" in condition or name == "oldest"}
            found = self.connection.sql(_FIRST.format(condition=condition), params=used).to_arrow_table().to_pylist()
            if found and condition is _EXACT:
                return LikelyItems(1, [max(found, key=lambda row: str(row["run_id"]))])
            if found:
                return LikelyItems(found[0]["items"], found)
        return LikelyItems()

    def item_of_request(self, request_id: str) -> str:
        """Return the ID of the item that a request was for, whether it led to an outcome or not; else ResultsError."""
        request_ids = "uploads_request_id, verify_request_id, storage_request_id"
        since = f"run_id >= {quoted(self.oldest)}"
        of_rows = f"{since} AND ? IN ({request_ids}) ORDER BY run_id DESC LIMIT 1"
        for found in self._rows(f"SELECT item_id FROM store.verdicts WHERE {of_rows}", request_id):
            return str(found["item_id"])
        of_runs = f"store.exchanges SEMI JOIN store.plans USING (run_id) WHERE {since} AND request_id = ?"
        of_calls = f"SELECT run_id, manifest_row FROM {of_runs} ORDER BY run_id DESC LIMIT 1"
        for run_id, row in (each.values() for each in self._rows(of_calls, request_id)):
            if isinstance(row, int):
                of_row = f"SELECT item_id FROM store.verdicts WHERE run_id = ? AND manifest_row = {row}"
                answered = [str(found["item_id"]) for found in self._rows(of_row, str(run_id))]
                return answered[0] if answered else self._planned(self.results.plan(str(run_id)), row).item_id
            raise ResultsError(
                f"{printable(request_id)} is a call of run {run_id} that belongs to no file; see all its calls "
                f"with: proofsweep explain {run_id}"
            )
        raise ResultsError(
            f"{printable(request_id)} is neither an item nor a request of a run nor a proof in "
            f"{self.results.store.url}; give a file's location or a part of its name, its title or ISRC, its item_id, "
            "a request ID or a proof ID."
        )

    def occurrences(self, item_id: str) -> Iterator[Occurrence]:
        """Yield what happened to an item in each run, newest first; what an active leg has not published is missing."""
        found: defaultdict[str, dict[int, Row | None]] = defaultdict(dict)
        unfinished = "SELECT run_id FROM store.plans WHERE remaining > 0 AND run_id >= ?"
        for run_id in (str(row["run_id"]) for row in self._rows(unfinished, self.oldest)):
            found[run_id] = dict.fromkeys(self._planned_rows(run_id, item_id))
        for row in self._rows(f"{_whole('verdicts')} WHERE item_id = ? AND run_id >= {quoted(self.oldest)}", item_id):
            found[str(row["run_id"])][int(str(row["manifest_row"]))] = row
        for run_id in sorted((run_id for run_id, rows in found.items() if rows), reverse=True):
            yield from self._in_run(self.results.plan(run_id), found[run_id])

    def erasures(self, item_id: str) -> list[Row]:
        proofs = "(FROM store.verdicts WHERE item_id = ?) AS own USING (environment, proof_id)"
        is_gone = f"outcome IN {GONE}"
        return self._rows(f"{_whole('erasures')} SEMI JOIN {proofs} WHERE {is_gone} ORDER BY asked_at DESC", item_id)

    def failed_calls(self, run_id: str) -> Iterator[Row]:
        succeeded = "coalesce(failure IS NULL AND status BETWEEN 200 AND 299, false)"
        query = f"SELECT {_CALL} FROM store.exchanges WHERE run_id = {quoted(run_id)} AND NOT {succeeded}"
        for batch in self.connection.sql(f"{query} ORDER BY started_at").to_arrow_reader(_BATCH_ROWS):
            yield from batch.to_pylist()

    def proof(self, wanted: str) -> list[tuple[str, datetime, Row]]:
        """Return the rows that name a proof by its ID, each with its table and time in UTC, the newest first."""
        proof_id = wanted.removeprefix(PROOF_PREFIX)
        found: list[tuple[str, datetime, Row]] = []
        for table in (name for name in TABLES if "proof_id" in SCHEMAS[name].names):
            # One that was verified by its ID may have no answer.
            verified = f" OR audio = {quoted(PROOF_PREFIX + proof_id)}" if table == "verdicts" else ""
            rows = self._rows(f"{_whole(table)} WHERE proof_id = ?{verified}", proof_id)
            found += ((table, _time_of(table, row), row) for row in rows)
        return sorted(found, key=lambda each: each[1], reverse=True)

    def _rows(self, query: str, *values: str) -> list[Row]:
        return list(self.connection.sql(query, params=values).to_arrow_table().to_pylist())

    def _planned(self, plan: Plan, row: int) -> WorkItem:
        return next(self.results.items(plan, [row]))

    def _planned_rows(self, run_id: str, item_id: str) -> Iterator[int]:
        try:
            items = self.results.items(self.results.plan(run_id))
            yield from (item.manifest_row for item in items if item.item_id == item_id)
        except ResultsError:  # an old run's planned items may be pruned
            return

    def _in_run(self, plan: Plan, found: Mapping[int, Row | None]) -> Iterator[Occurrence]:
        wanted = sorted(set().union(*(rows_of_calls(*each) for each in found.items())))
        of_run = f"{_whole('exchanges')} WHERE run_id = {quoted(plan.run_id)}"
        calls = self._rows(f"{of_run} AND list_contains({wanted}, manifest_row) ORDER BY started_at")
        named = "SELECT manifest_row, coalesce(manifest_line, relative_path, audio) AS name FROM store.verdicts"
        of_rows = f"{named} WHERE run_id = {quoted(plan.run_id)} AND list_contains({wanted}, manifest_row)"
        names = {each["manifest_row"]: str(each["name"]) for each in self._rows(of_rows)}
        for manifest_row, row in sorted(found.items()):
            own = rows_of_calls(manifest_row, row)
            line = self._planned(plan, manifest_row).manifest_line if row is None else row["manifest_line"]
            yield Occurrence(
                plan=plan,
                manifest_row=manifest_row,
                row=row,
                exchanges=[call for call in calls if call["manifest_row"] in own],
                line=None if line is None else str(line),
                answered_by=None if row is None else names.get(row["answered_by_row"]),
            )


def _location(wanted: str) -> str:
    try:
        return path_of(wanted, str(Path.cwd()))
    except CatalogError:
        return wanted


def _whole(table: str) -> str:
    return f"SELECT {', '.join(SCHEMAS[table].names)} FROM store.{table}"


def _time_of(table: str, row: Row) -> datetime:
    column = TABLES[table].proof_time
    if column is None:
        return datetime.strptime(str(row["operation_id"])[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return datetime.fromisoformat(str(row[column])).astimezone(UTC)
