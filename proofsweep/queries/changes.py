"""What changed in a run, by the view `changes`: the counts and the files."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date

import duckdb

from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.domain.runs import INGEST, Plan
from proofsweep.queries.connection import answering
from proofsweep.queries.views import quoted
from proofsweep.store.parts import Results
from proofsweep.store.runs import RunIndex

CHANGES_IN_ORDER = ("broken", "fixed", "changed", "new", "gone")
"""A `broken` file was accepted before and is not now, a `fixed` one the reverse."""
COLUMNS = (
    *("change", "cause", "item_id", "file", "before_outcome", "before_reason", "now_outcome", "now_reason"),
    *("before_run_id", "run_id"),
)
_RUBRICS = ("before_grade_rubric_version", "now_grade_rubric_version")
_FETCHED = 5_000  # rows in memory at once
_WITH_ONE_RUN = """
CREATE OR REPLACE VIEW store.comparisons AS
SELECT
    {now} AS at_run, before.run_id, false AS is_now,
    before.identity = now.identity AND NOT (before.is_partial OR now.is_partial)
    AND before.skipped + now.skipped + now.remaining = 0 AS may_be_gone,
    before.run_id NOT IN (SELECT run_id FROM store.pruned) AS may_be_new, false AS is_first,
    NULL::VARCHAR AS older_than
FROM store.plans AS before, store.plans AS now
WHERE before.run_id = {before} AND now.run_id = {now}
UNION ALL
SELECT {now}, {now}, true, false, false, false, NULL
"""
_SINCE = """
CREATE OR REPLACE TEMP TABLE comparisons_since AS
WITH
    chosen AS (
        FROM store.plans
        WHERE list_contains(getvariable('environments'), environment) AND run_id >= {first}
    ),
    before AS (
        FROM store.comparisons
        SEMI JOIN (SELECT min(run_id) AS at_run FROM chosen GROUP BY identity) AS firsts USING (at_run)
    )
SELECT
    'since' AS at_run, run_id, run_id >= {first} AS is_now, false AS may_be_gone, true AS may_be_new,
    (SELECT bool_or(is_first) FROM before) AS is_first, (SELECT max(older_than) FROM before) AS older_than
FROM (SELECT run_id FROM chosen UNION SELECT run_id FROM before)
"""
SINCE = "since"
"""The run in whose place `changes` has what changed since a day."""
PREVIOUS = "previous"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run, and one run to compare it with; None for how each file stood before."""

    results: Results
    now: Plan
    before: Plan | None = None


class RunChanges:
    """The changes of one comparison; valid until its context ends.

    Rows whose grade alone changed, with its rubric, are as before: grades of two versions are not compared.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def counts(self) -> list[tuple[str, str | None, int]]:
        rows = self._connection.execute(
            "SELECT change, cause, count(*) FROM changed WHERE NOT is_rubric GROUP BY ALL"
        ).fetchall()
        return sorted(rows, key=lambda row: (CHANGES_IN_ORDER.index(row[0]), -row[2], row[1] or ""))

    def as_before(self) -> int:
        found = self._connection.execute(
            "SELECT (SELECT count(DISTINCT item_id) FROM verdicts WHERE run_id = getvariable('compared_run')) - "
            "count(*) FILTER (now_outcome IS NOT NULL AND NOT is_rubric) FROM changed"
        )
        [(count,)] = found.fetchall()
        return int(count)

    def rows(self, most_of_each: int | None = None) -> Iterator[dict[str, str | None]]:
        limit = "" if most_of_each is None else f"QUALIFY row_number() OVER of_kind <= {int(most_of_each)}"
        found = self._connection.execute(
            f"SELECT {', '.join(COLUMNS)} FROM changed WHERE NOT is_rubric "  # noqa: S608 - our own names
            f"WINDOW of_kind AS (PARTITION BY change, cause ORDER BY file, item_id) {limit} "
            f"ORDER BY list_position({list(CHANGES_IN_ORDER)}, change), cause NULLS LAST, file, item_id"
        )
        while portion := found.fetchmany(_FETCHED):
            yield from (dict(zip(COLUMNS, row, strict=True)) for row in portion)

    def rubrics(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the versions of the grades' rubric before and now, of items in which they differ."""
        differing = self._connection.sql(f"FROM changed WHERE {' <> '.join(_RUBRICS)}")
        before, now = (differing.project(column).distinct().order(column).fetchall() for column in _RUBRICS)
        return [version for (version,) in before], [version for (version,) in now]


def words_of_cause(cause: str | None) -> str:
    known = {None: "same file, other answer", "gone": "not in the catalog any more"}
    return known.get(cause) or str(cause).replace("_", " ")


def compare_since(connection: duckdb.DuckDBPyConnection, day: date) -> None:
    """Let `changes` compare now with when a day (UTC) began, as the run `SINCE`; it knows of nothing gone or new."""
    connection.execute(_SINCE.format(first=quoted(f"{day:%Y%m%d}T")))
    connection.execute("CREATE OR REPLACE VIEW store.comparisons AS FROM comparisons_since")


@contextmanager
def run_changes(comparison: Comparison) -> Iterator[RunChanges]:
    """Compare, for the work inside; ResultsError if the store cannot be read."""
    now = comparison.now
    with answering(comparison.results, now.environment, "changes") as connection:
        if comparison.before is not None:
            sides = {"now": quoted(now.run_id), "before": quoted(comparison.before.run_id)}
            connection.execute(_WITH_ONE_RUN.format(**sides))
        connection.execute(f"SET VARIABLE compared_run = {quoted(now.run_id)}")
        connection.execute(
            f"CREATE TEMP TABLE changed AS SELECT {', '.join((*COLUMNS, *_RUBRICS))}, "  # noqa: S608 - our own names
            "cause IS NOT DISTINCT FROM 'rubric_changed' AND change = 'changed' AS is_rubric "
            f"FROM changes WHERE run_id = {quoted(now.run_id)}"
        )
        yield RunChanges(connection)


def comparison_of(results: Results, now: Plan, against: str) -> Comparison:
    """Choose what to compare with: `previous` (how each file stood), `baseline` (the first whole run), or a named run.

    ResultsError if there is no such run, or nothing to compare with; UsageError if the runs are of two environments.
    """
    if against not in {PREVIOUS, "baseline"}:
        before = results.plan(against)
        if before.environment != now.environment:
            raise UsageError(
                f"The run {now.run_id} is of the environment {now.environment!r}, and {before.run_id} of "
                f"{before.environment!r}: verdicts of one say nothing about the other."
            )
        return Comparison(results, now, before)
    runs = [run for run in RunIndex(results).refreshed().newest_first() if run.plan.run_id < now.run_id and run.legs]
    earlier = [run for run in reversed(runs) if run.plan.environment == now.environment]
    if against == "baseline":
        finished = [run for run in earlier if run.remaining == 0 and not run.plan.skipped]
        whole = [run for run in finished if run.plan.catalog_kind != INGEST]
        earlier = [run for run in whole if run.plan.identity == now.identity]
    if not earlier:
        raise ResultsError(f"There is nothing to compare the run {now.run_id} with: no earlier run is like it.")
    return Comparison(results, now, None if against == PREVIOUS else earlier[0].plan)
