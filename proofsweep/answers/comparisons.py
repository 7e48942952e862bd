"""Comparisons, wired: which run is compared with what."""

from collections.abc import Sequence

from proofsweep.answers.run_changes import Comparison
from proofsweep.errors import ResultsError, UsageError
from proofsweep.model.run_records import RunRecord
from proofsweep.model.runs import PARTIAL_KINDS, Plan
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex

PREVIOUS = "previous"


def comparison_of(results: Results, now: Plan, against: str) -> Comparison:
    """Choose what to compare a run with.

    `previous` is how each file stood before. `baseline` is the first finished whole run of the catalog. Anything else
    names a run.

    Raises:
        ResultsError: there is no such run, or nothing to compare it with.
        UsageError: the runs are of two environments.
    """
    if against not in {PREVIOUS, "baseline"}:
        before = results.plan(against)
        _refuse_two_environments(now, before)
        return Comparison(results, now, before)
    earlier = _earlier_runs(results, now)
    if against == "baseline":
        earlier = [run for run in earlier if run.plan.identity == now.identity and _is_finished_whole(run)]
    if not earlier:
        raise ResultsError(f"There is nothing to compare the run {now.run_id} with: no earlier run is like it.")
    return Comparison(results, now, None if against == PREVIOUS else earlier[0].plan)


def _earlier_runs(results: Results, now: Plan) -> Sequence[RunRecord]:
    """Return the earlier runs of the environment that have rows, the oldest first."""
    records = RunIndex(results).refreshed().records
    earlier = [records[name] for name in sorted(records) if name < now.run_id]
    return [run for run in earlier if run.plan.environment == now.environment and run.legs]


def _is_finished_whole(run: RunRecord) -> bool:
    return run.remaining == 0 and not run.plan.skipped and run.plan.catalog_kind not in PARTIAL_KINDS


def _refuse_two_environments(now: Plan, before: Plan) -> None:
    if before.environment != now.environment:
        raise UsageError(
            f"The run {now.run_id} is of the environment {now.environment!r}, and {before.run_id} of "
            f"{before.environment!r}: verdicts of one say nothing about the other."
        )
