"""Every row that some leg has finished: those of the snapshot, and those that it does not have yet."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.model import layout
from proofsweep.model.run_records import RunRecord
from proofsweep.model.runs import Plan
from proofsweep.store.journal import Segments
from proofsweep.store.legs import Legs
from proofsweep.store.newest_answers import HashedItems
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex
from proofsweep.store.snapshot import Snapshot, legs_in


def known_rows(results: Results, environment: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Give the rows of an environment: the snapshot's, then those of legs that work, were killed, or are not in it yet.

    Raises:
        ResultsError: the store cannot be read.
    """
    snapshot = Snapshot(results.store)
    entries = snapshot.entries()  # before the runs: a leg that ends meanwhile is read twice rather than not at all
    legs = legs_in(entries)
    for table in snapshot.rows(columns, entries):
        yield table.filter(pc.field("environment") == environment).select(list(columns))
    for run in RunIndex(results).refreshed().newest_first():
        if run.plan.environment == environment:
            yield from _late_rows(results, run, legs.get(run.plan.run_id, []), list(columns))


def are_known_since(results: Results, plan: Plan, item_ids: Iterable[str]) -> bool:
    """Whether another run has finished each of these items since a run was planned."""
    epoch, time = Legs(results, plan.run_id).epoch(1), datetime.fromisoformat(plan.created_at)
    is_same = (pc.field("epoch") == epoch) & (pc.field("finished_at") >= pa.scalar(time))
    is_later = (is_same | (pc.field("epoch") > epoch)) & (pc.field("run_id") != plan.run_id)
    tables = known_rows(results, plan.environment, ["item_id", "run_id", "epoch", "finished_at"])
    later = HashedItems(str(each) for table in tables for each in table.filter(is_later)["item_id"].to_pylist())
    return len(later) > 0 and all(each in later for each in item_ids)


def _late_rows(results: Results, run: RunRecord, held: Sequence[int], columns: list[str]) -> Iterator[pa.Table]:
    """Give the rows of the parts and journals of a run's legs that the snapshot does not hold."""
    if run.is_over and all(leg.leg in held for leg in run.legs):
        return
    names = results.parts_of("verdicts", run.plan)
    yield from results.tables([name for name in names if layout.leg_of(name) not in held], columns)
    for leg in map(int, results.store.folders(layout.journals_folder(run.plan.run_id))):
        segments = Segments(results, run.plan.run_id, leg)
        tables = (segments.table(name, columns) for name in segments.names("verdicts"))
        yield from (table for table in tables if table is not None)
