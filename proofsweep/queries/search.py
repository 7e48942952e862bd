# ruff: noqa: S608 - the SQL is made of our own names and of quoted text
"""Search a results store, in all environments: for an item by what people know of it, and for the calls to quote."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from proofsweep.config.locations import path_of
from proofsweep.domain.errors import CatalogError
from proofsweep.domain.items import PROOF_PREFIX, Row, utf8_text
from proofsweep.queries.connection import answering, tables_of
from proofsweep.queries.views import with_views
from proofsweep.store.latest import columns_of_row
from proofsweep.store.parts import SCHEMAS, Results
from proofsweep.store.sql import quoted
from proofsweep.store.tables import NEWEST_FIRST

MOST_LISTED = 20
_ITEMS = f"""
    SELECT item_id, coalesce(relative_path, audio) AS file, outcome, verdict, reason
    FROM store.newest
    WHERE {{condition}}
    QUALIFY row_number() OVER (PARTITION BY item_id ORDER BY {NEWEST_FIRST}) = 1
    ORDER BY file, item_id
    LIMIT {MOST_LISTED + 1}
"""
_FILE = "coalesce(relative_path, audio)"
_TAGS = "json_extract_string(tags, '$.*')"
# A disk of a Mac keeps names decomposed, and people type them composed.
_SAME_LETTERS = "lower(nfc_normalize({}))"
# What people leave out when they type: accents, the second of two blanks, and hyphens and blanks within an ISRC or a
# barcode.
_PLAIN_LETTERS = "regexp_replace(strip_accents(lower(nfc_normalize({}))), '\\s+', ' ', 'g')"
_PLAIN_CODE = f"regexp_replace({_PLAIN_LETTERS}, '[-\\s]', '', 'g')"
_EXACT = f"""
    $wanted IN (item_id, verify_request_id, proof_id, '{PROOF_PREFIX}' || proof_id)
    OR audio = $location OR nfc_normalize(audio) = nfc_normalize($location)
"""


def _alike(letters: str, code: str) -> str:
    """Return the condition for a part of a location, or for a whole tag, with texts as they are compared."""
    file = letters.format(_FILE)
    part_of_it = letters.format("$wanted")
    code_of_tag = code.format("tag")
    codes = f"list_transform({_TAGS}, lambda tag: {code_of_tag})"
    wanted_code = code.format("$wanted")
    wanted = f"nullif({wanted_code}, '')"  # of hyphens alone nothing is left
    return f"contains({file}, {part_of_it}) OR coalesce(list_contains({codes}, {wanted}), false)"


_STEPS = (_EXACT, _alike(_SAME_LETTERS, _SAME_LETTERS), _alike(_PLAIN_LETTERS, _PLAIN_CODE))
_OF_REQUEST = """
    item_id IN (
        SELECT item_id FROM store.verdicts
        WHERE $wanted IN (uploads_request_id, verify_request_id, storage_request_id)
        UNION ALL
        SELECT item_id FROM store.verdicts JOIN store.exchanges USING (run_id, manifest_row) WHERE request_id = $wanted
    )
"""
# A pass may have moved a file more than once: its newest row says where it is.
_MOVED = """
    SELECT environment, item_id, audio, arg_max(struct_pack(place := audio_moved_to), acted_at).place AS place
    FROM store.ingest WHERE list_contains($items::VARCHAR[], item_id)
    GROUP BY ALL
"""
_FAILED = "run_id = {run_id} AND NOT coalesce(failure IS NULL AND status BETWEEN 200 AND 299, false)"
_KINDS = """
    SELECT
        call, status, error_code, failure, environment,
        date_trunc('hour', started_at) AS hour, count(*) AS calls, min(started_at) AS first, max(started_at) AS last,
        arg_min(
            struct_pack(
                started_at := started_at, request_id := request_id, bytes_sent := bytes_sent, elapsed_ms := elapsed_ms
            ),
            (request_id IS NULL, started_at), 10
        ) AS named
    FROM store.exchanges WHERE {condition}
    GROUP BY ALL ORDER BY hour, environment, call, status, error_code, failure
"""
_OF_ROW = columns_of_row(SCHEMAS["verdicts"].names)


@contextmanager
def searching(results: Results) -> Iterator["Search"]:
    with tables_of(results, f"{_OF_REQUEST} store.exchanges") as connection:
        yield Search(connection)


@dataclass(frozen=True, slots=True)
class Standing:
    """How the view `catalog` has an item: its state, and the file that has its bytes if it was moved."""

    state: str
    moved_to: str | None


def standing_of(results: Results, item_id: str, environments: Sequence[str]) -> Mapping[str, Standing]:
    """Return how an item stands in each environment in which a catalog that counts lists it, or has listed it."""
    query = f"{with_views('catalog')} SELECT environment, state, moved_to FROM catalog WHERE item_id = $item_id"
    with answering(results, environments, "catalog") as connection:
        rows = connection.execute(query, {"item_id": item_id}).fetchall()
        return {environment: Standing(state, moved_to) for environment, state, moved_to in rows}


def moved_files(results: Results, item_ids: Iterable[str]) -> Mapping[tuple[str, str, str], str]:
    """Return where passes have moved files of some items, by the environment, the item and where it was delivered."""
    items = [*item_ids]
    if not items:
        return {}
    with tables_of(results, _MOVED) as connection:
        rows = connection.execute(_MOVED, {"items": items}).fetchall()
    moved: dict[tuple[str, str, str], str] = {}
    for environment, item_id, audio, location in rows:
        if location is not None:
            moved[environment, item_id, audio] = location
    return moved


@dataclass(frozen=True, slots=True)
class Search:
    connection: duckdb.DuckDBPyConnection

    def items(self, wanted: str) -> list[Row]:
        """Find tried items by an exact location or ID, else by a part of a location or a tag, else by a request.

        Return the first by their files, at most one more than `MOST_LISTED`.
        """
        if not wanted.strip():
            return []
        values = {"wanted": utf8_text(wanted), "location": utf8_text(_location(wanted))}
        # From the exact to the loose, and the first that finds something counts: else the file that was named would
        # stand among all those that are a little like it.
        for condition in (*_STEPS, _OF_REQUEST):
            # DuckDB refuses a value that a query does not use.
            used = {name: value for name, value in values.items() if f"${name}" in condition}
            query = _ITEMS.format(condition=condition)
            items = self._rows(query, used)
            if items:
                return items
        return []

    def verdicts(self, item_id: str) -> list[Row]:
        """Return an item's rows, the newest answer first."""
        of_item = f"SELECT {_OF_ROW} FROM store.verdicts WHERE item_id = $item_id"
        return self._rows(f"SELECT * FROM ({of_item}) ORDER BY {NEWEST_FIRST}", {"item_id": item_id})

    def calls(self, verdicts: Sequence[Row]) -> list[Row]:
        """Return the exchanges that led to some rows, or to rows of the same runs whose answers were used, by time."""
        columns = ", ".join(SCHEMAS["exchanges"].names)
        condition = _calls_for(verdicts)
        return self._rows(f"SELECT {columns} FROM store.exchanges WHERE {condition} ORDER BY started_at", {})

    def kinds_of_calls(self, verdicts: Sequence[Row]) -> list[Row]:
        """Count the same exchanges by call, answer and hour, and name the first ten of each kind."""
        return self._rows(_KINDS.format(condition=_calls_for(verdicts)), {})

    def kinds_of_failed_calls(self, run_id: str) -> list[Row]:
        """Count the exchanges of a run or an operation that did not succeed in the same way."""
        condition = _FAILED.format(run_id=quoted(run_id))
        return self._rows(_KINDS.format(condition=condition), {})

    def _rows(self, query: str, values: dict[str, str]) -> list[Row]:
        answer = self.connection.sql(query, params=values or None)
        rows: list[Row] = answer.to_arrow_table().to_pylist()
        return rows


def calling_rows(verdict: Row) -> set[object]:
    """Name the rows whose calls led to a row's outcome: its own, and the one with the same bytes that was asked."""
    return {verdict["manifest_row"], verdict["answered_by_row"]} - {None}


def _calls_for(verdicts: Sequence[Row]) -> str:
    # Runs alone come first: only their files are opened.
    runs: set[str] = set()
    rows: list[str] = []
    for row in verdicts:
        run_id = quoted(str(row["run_id"]))
        runs.add(run_id)
        for number in calling_rows(row):
            key = f"({run_id}, {number})"
            rows.append(key)
    listed_runs = ", ".join(runs)
    listed_rows = ", ".join(rows)
    return f"run_id IN ({listed_runs}) AND (run_id, manifest_row) IN ({listed_rows})"


def _location(wanted: str) -> str:
    try:
        return path_of(wanted, str(Path.cwd()))
    except CatalogError:
        return wanted
