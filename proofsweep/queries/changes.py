"""What changed in a run, by the view `changes`: the counts and the files."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from proofsweep.domain.runs import Plan
from proofsweep.queries.connection import answering
from proofsweep.queries.selected_rows import ShownFile, shown_files
from proofsweep.queries.views import with_views
from proofsweep.store.parts import Results
from proofsweep.store.sql import quoted

CHANGES_IN_ORDER = ("broken", "fixed", "changed", "new", "gone")
"""A `broken` file was accepted before and is not now, a `fixed` one the reverse."""
COLUMNS = (
    *("change", "cause", "item_id", "file", "before_outcome", "before_reason", "now_outcome", "now_reason"),
    *("before_run_id", "run_id", "before_audio", "now_audio"),
)
_MOST_CHANGED = 50  # files of a kind on a page
_FETCHED = 5_000  # rows in memory at once
_MOST_PARTS = 10_000  # that are opened by name; of more, all that lie between them are looked at
_FEW = 3  # of the parts between the first and the last one, those that are told by name are at most one of so many
_CHANGED = """
SELECT {columns}, cause IS NOT DISTINCT FROM 'rubric_changed' AND change = 'changed' AS is_rubric
FROM changes
"""
_PARTS = """
WITH compared AS (SELECT DISTINCT run_id FROM store.comparisons)
SELECT count(*) FILTER (run_id IN (FROM compared)), count(*)
FROM store.verdicts_files
WHERE run_id BETWEEN (SELECT min(run_id) FROM compared) AND (SELECT max(run_id) FROM compared)
"""
# Of a file that runs of several catalogs tell, the last one counts; what another one has is not gone.
_FILES = """
WITH told AS (FROM changed WHERE change <> 'changed' OR cause = 'moved'),
again AS (
    SELECT item_id, max((change <> 'gone', run_id)) AS last FROM told GROUP BY item_id HAVING count(*) > 1
)
SELECT
    CASE change WHEN 'changed' THEN cause ELSE change END AS kind, count(*),
    arg_min(
        struct_pack(
            file := coalesce(file, ''), audio := coalesce(now_audio, before_audio), item_id := item_id, cause := cause,
            was := CASE cause WHEN 'moved' THEN before_file END,
            outcome := CASE change WHEN 'fixed' THEN before_outcome ELSE coalesce(now_outcome, before_outcome) END,
            reason := CASE change WHEN 'fixed' THEN before_reason ELSE coalesce(now_reason, before_reason) END,
            day := strptime(left(run_id, 8), '%Y%m%d')::DATE, tags := [{shown}]::VARCHAR[]
        ),
        (-left(run_id, 8)::INTEGER, coalesce(file, ''), item_id), {most}
    )
FROM told LEFT JOIN again USING (item_id)
WHERE last IS NULL OR last = (change <> 'gone', run_id) GROUP BY kind
"""


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The files with one kind of change: how many, and the first ones, by their nights and names."""

    files: int
    shown: Sequence[ShownFile]  # of a mended one, the outcome and reason are those before


@dataclass(frozen=True, slots=True)
class RunChanges:
    """The changes of one run against how each file stood before; valid until its context ends.

    Rows whose grade alone changed, with its rubric, are as before: grades of two versions are not compared.
    """

    connection: duckdb.DuckDBPyConnection
    run_id: str

    def counts(self) -> list[tuple[str, str | None, int]]:
        query = "SELECT change, cause, count(*) FROM changed WHERE NOT is_rubric GROUP BY ALL"
        rows = self.connection.execute(query).fetchall()

        def in_order(row: tuple[str, str | None, int]) -> tuple[int, int, str]:
            change, cause, files = row
            return CHANGES_IN_ORDER.index(change), -files, cause or ""

        return sorted(rows, key=in_order)

    def as_before(self) -> int:
        found = self.connection.execute(
            "SELECT (SELECT count(DISTINCT item_id) FROM store.verdicts WHERE run_id = $1) - "
            "count(*) FILTER (now_outcome IS NOT NULL AND NOT is_rubric) FROM changed",
            [self.run_id],
        )
        [(count,)] = found.fetchall()
        return int(count)

    def compared_with(self) -> list[str]:
        """Name the earlier runs that it is compared with, the oldest first."""
        query = "SELECT run_id FROM store.comparisons WHERE at_run = $1 AND NOT is_now ORDER BY run_id"
        rows = self.connection.execute(query, [self.run_id]).fetchall()
        return [run_id for (run_id,) in rows]

    def rows(self, most_of_each: int | None = None) -> Iterator[dict[str, str | None]]:
        limit = ""
        if most_of_each is not None:
            limit = f"QUALIFY row_number() OVER of_kind <= {int(most_of_each)}"
        columns = ", ".join(COLUMNS)
        kind = f"list_position({list(CHANGES_IN_ORDER)}, change)"
        found = self.connection.execute(
            f"SELECT {columns} FROM changed WHERE NOT is_rubric "  # noqa: S608 - our own names
            f"WINDOW of_kind AS (PARTITION BY change, cause ORDER BY file, item_id) {limit} "
            f"ORDER BY {kind}, cause NULLS LAST, file, item_id"
        )
        while batch := found.fetchmany(_FETCHED):
            for row in batch:
                yield dict(zip(COLUMNS, row, strict=True))


def words_of_cause(cause: str | None) -> str:
    known = {None: "same file, other answer", "gone": "not in the catalog any more"}
    return known.get(cause) or str(cause).replace("_", " ")


def create_changed(connection: duckdb.DuckDBPyConnection, run_ids: Sequence[str]) -> None:
    """Make the table `changed` of what changed in some runs, in one query for all of them.

    Those of one catalog are compared as one: what they left against what was before the first. A query for
    each would look through the whole store as often as there are runs.
    """
    columns = ", ".join((*COLUMNS, "before_file", "tags"))
    texts = ", ".join(map(quoted, run_ids))
    connection.execute(f"SET VARIABLE compared_runs = [{texts}]::VARCHAR[]")
    named, between = connection.execute(_PARTS).fetchone() or (0, 0)
    if named * _FEW <= between:
        # DuckDB opens the files that a join names only if they are so few. It then compares each row's file with all
        # names, which takes twice as long as the row: without this it opens all files between the first and the last.
        connection.execute(f"SET dynamic_or_filter_threshold = {_MOST_PARTS}")
    query = _CHANGED.format(columns=columns)
    views = with_views("changes")
    connection.execute(f"CREATE TEMP TABLE changed AS {views} {query}")


def changed_files(connection: duckdb.DuckDBPyConnection, shown: Mapping[str, str]) -> dict[str, ChangedFiles]:
    """Return by kind which files of the table `changed` broke, were mended, moved, are gone or new.

    Tags are by name and SQL.
    """
    tags = ", ".join(shown.values())
    query = _FILES.format(shown=tags, most=_MOST_CHANGED)
    return files_by_kind(connection, query)


def files_by_kind(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, ChangedFiles]:
    """Read the answer to a query whose rows are a kind, the number of its files, and the first of them."""
    files: dict[str, ChangedFiles] = {}
    for kind, count, first in connection.execute(query).fetchall():
        files[kind] = ChangedFiles(count, shown_files(first))
    return files


@contextmanager
def run_changes(results: Results, run: Plan) -> Iterator[RunChanges]:
    """Compare a run with how each file stood before, for the work inside; ResultsError if it cannot be read."""
    with answering(results, [run.environment], "changes") as connection:
        create_changed(connection, [run.run_id])
        yield RunChanges(connection, run.run_id)
