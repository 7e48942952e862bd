"""What changed between a run and what was known before: of each item the change, and what caused it.

The rows are put into DuckDB, which joins them on disk if they are too many for memory.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.domain.erasure import GONE
from proofsweep.domain.runs import PARTIAL_KINDS, Plan
from proofsweep.reporting.diff_sql import CHANGES, CLOSE_ANSWERED, OPEN_ITEMS, TABLES
from proofsweep.reporting.scratch_database import scratch_database
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.selected_rows import SelectedRows

CHANGES_IN_ORDER = ("broken", "fixed", "changed", "new", "gone")
"""A `broken` file was accepted before and is not now, a `fixed` one the reverse."""

COLUMNS = (
    "change",
    "cause",
    "item_id",
    "audio",
    "before",
    "before_reason",
    "now",
    "now_reason",
    "before_run",
    "now_run",
)

_READ = [
    *("item_id", "audio", "relative_path", "audio_sha256", "audio_version", "sidecar", "sidecar_sha256", "outcome"),
    *("reason", "verdict", "proof_id", "classification", "grade_json", "grade_rubric_version", "run_id"),
    *("finished_at", "manifest_row"),
]
_MEMORY = "512MB"  # more rows are joined on disk
_FETCHED = 5_000  # rows in memory at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two sides to compare.

    Attributes:
        now: the run.
        before: runs whose newest rows say how things stood, the oldest first.
        whole: the run whose items a file is gone from; None if no run held the whole catalog.
        commits: the service's commit in each run, as far as it is known.
    """

    results: Results
    now: Plan
    before: Sequence[Plan]
    whole: Plan | None
    commits: Mapping[str, str]


class RunDiff:
    """The changes of one comparison; valid until its context ends."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._database = database

    def counts(self) -> list[tuple[str, str, int]]:
        """Count the items by change and cause, in the order of `CHANGES_IN_ORDER`; also those that are the same."""
        rows = self._database.execute("SELECT change, cause, count(*) FROM changes GROUP BY ALL").fetchall()
        order = [*CHANGES_IN_ORDER, "same"]
        return sorted(rows, key=lambda row: (order.index(row[0]), -row[2], row[1]))

    def rows(self, most_of_each: int | None = None) -> Iterator[dict[str, str | None]]:
        """Give the changed items; at most so many of each change and cause."""
        limit = "" if most_of_each is None else f"QUALIFY row_number() OVER of_kind <= {int(most_of_each)}"
        found = self._database.execute(
            f"SELECT {', '.join(COLUMNS)} FROM changes WHERE change <> 'same' "  # noqa: S608 - our own names
            f"WINDOW of_kind AS (PARTITION BY change, cause ORDER BY audio, item_id) {limit} "
            "ORDER BY list_position(['broken', 'fixed', 'changed', 'new', 'gone'], change), cause, audio, item_id"
        )
        while portion := found.fetchmany(_FETCHED):
            yield from (dict(zip(COLUMNS, row, strict=True)) for row in portion)

    def rubrics(self) -> tuple[list[str], list[str]]:
        """Give the versions of the grades' rubric before and now; grades of two versions are not compared."""
        return self._versions("before"), self._versions("now")

    def _versions(self, side: str) -> list[str]:
        named = f"SELECT DISTINCT grade_rubric_version FROM {side}_rows WHERE grade_rubric_version IS NOT NULL"  # noqa: S608
        return sorted(version for (version,) in self._database.execute(named).fetchall())


@contextmanager
def run_diff(comparison: Comparison) -> Iterator[RunDiff]:
    """Compare, for the work inside.

    Raises:
        ResultsError: the store cannot be read.
        OSError: the disk of temporary files is full.
    """
    with scratch_database(_MEMORY) as database:
        database.execute(TABLES)
        results, now = comparison.results, comparison.now
        _insert(database, "now_rows", _rows_of(results, [now]))
        if comparison.whole is not None and holds_whole_catalog(now):
            _insert(database, "whole_items", _items_of(results, comparison.whole))
            _insert(database, "planned_items", _planned_items(results, now))
        _insert_before(database, comparison)
        commits = {"run_id": list(comparison.commits), "service_commit": list(comparison.commits.values())}
        _insert(database, "services", [pa.table(commits, pa.schema([(name, pa.string()) for name in commits]))])
        _insert(database, "erasures", _erasures(results, now.environment))
        database.execute(CHANGES)
        yield RunDiff(database)


def holds_whole_catalog(plan: Plan) -> bool:
    """Say whether a run was planned of all rows of its catalog: only then a file that it lacks is gone."""
    return not plan.skipped and plan.catalog_kind not in PARTIAL_KINDS


def _insert_before(database: duckdb.DuckDBPyConnection, comparison: Comparison) -> None:
    """Read earlier runs, the newest first, until a row of each item that is not failed is found."""
    database.execute(OPEN_ITEMS)
    for plan in reversed(comparison.before):
        if database.execute("SELECT count(*) FROM open_items").fetchall() == [(0,)]:
            break
        rows = _rows_of(comparison.results, [plan])
        _insert(database, "before_rows", rows, "WHERE item_id IN (SELECT item_id FROM open_items)")
        database.execute(CLOSE_ANSWERED)


def _insert(database: duckdb.DuckDBPyConnection, name: str, tables: Iterable[pa.Table], which: str = "") -> None:
    for table in tables:
        database.register("portion", table)
        database.execute(f"INSERT INTO {name} BY NAME SELECT * FROM portion {which}")  # noqa: S608 - our own text
        database.unregister("portion")


def _rows_of(results: Results, plans: Iterable[Plan]) -> Iterator[pa.Table]:
    for plan in plans:
        chosen = SelectedRows(results=results, environment=plan.environment, plan=plan)
        yield from (table for _, table in chosen.tables(_READ))


def _items_of(results: Results, plan: Plan) -> Iterator[pa.Table]:
    return (results.table("verdicts", [name], ["item_id"]) for name in results.parts_of("verdicts", plan))


def _erasures(results: Results, environment: str) -> Iterator[pa.Table]:
    """Give the proofs that were erased with this store, and when that was asked for."""
    is_done = (pc.field("environment") == environment) & pc.field("outcome").isin(GONE)
    for name in results.all_parts("erasures"):
        table = results.table("erasures", [name], ["proof_id", "asked_at", "environment", "outcome"])
        yield table.filter(is_done).select(["proof_id", "asked_at"])


def _planned_items(results: Results, plan: Plan) -> Iterator[pa.Table]:
    """Give the planned items of shards that are not finished: what merely remains is not gone."""
    finished = results.verdicts_by_shard(plan)
    for shard in range(plan.shards):
        if not results.is_finished(plan, shard, finished.get(shard, [])):
            items = [item.item_id for item in results.shard_items(plan.run_id, shard)]
            yield pa.table({"item_id": pa.array(items, pa.string())})
