"""Make the index of runs and the snapshot anew from the results themselves."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from proofsweep.errors import ResultsError
from proofsweep.model.run_records import RunRecord
from proofsweep.store.newest_rows import reduced
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex
from proofsweep.store.snapshot import Snapshot
from proofsweep.verify.leg.note_leg import LegRows, measured_leg


@dataclass(frozen=True, slots=True)
class Compacted:
    """What was read, and how many rows the snapshot has now."""

    runs: int
    legs: int
    snapshot_rows: int


def compact(results: Results) -> Compacted:
    """Write the index and the snapshot of all legs that have ended; what is added meanwhile stays.

    ResultsError if there is neither a run nor an operation, or a part is damaged.
    """
    if not results.store.folders("_runs") and not Operations(results).ids():
        raise ResultsError(f"There is no run in {results.store.url}.")
    snapshot = Snapshot(results.store)
    before = snapshot.objects()  # listed first: a leg that ends from now on adds itself, and is not replaced
    index = RunIndex(results)
    runs = list(index.rebuild().records.values())
    counted: list[RunRecord] = []
    legs = {run.plan.run_id: [leg.leg for leg in run.legs] for run in runs if run.legs}
    snapshot.replace_all(reduced(_rows_of(results, runs, counted)), legs, before)
    index.add(counted)
    rows = sum(int(str(entry.body["rows"])) for entry in snapshot.entries())
    return Compacted(len(runs), sum(map(len, legs.values())), rows)


def _rows_of(results: Results, runs: Iterable[RunRecord], counted: list[RunRecord]) -> Iterator[pa.Table]:
    """Yield the rows of all legs, and note what was counted in them."""
    for run in runs:
        rows = LegRows(results, run.plan, [leg.leg for leg in run.legs])
        yield from rows
        counted.append(replace(run, legs=[measured_leg(results, run.plan, leg, rows) for leg in run.legs]))
