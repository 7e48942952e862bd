"""Comparisons, wired: which run is compared with what."""

from collections.abc import Iterable

from proofsweep.bootstrap.stores import results_for
from proofsweep.domain.run_records import RunRecord
from proofsweep.domain.runs import PARTIAL_KINDS, Plan
from proofsweep.errors import ResultsError, UsageError
from proofsweep.reporting.run_diff import Comparison, holds_whole_catalog
from proofsweep.settings import Settings
from proofsweep.storage.results.run_index import RunIndex

PREVIOUS = "previous"

# Earlier runs that are asked how a file stood before. Chosen: a nightly deployment asks for each file again within 30
# nights; half calls known files new there, twice reads twice as much for each file that is really new.
_MOST_RUNS = 40


def comparison_of(settings: Settings, run_id: str | None, against: str) -> Comparison:
    """Choose what to compare a run with; without one, the newest run that has rows.

    `previous` is how each file stood before, by the last 40 earlier runs of the environment. `baseline` is the first
    finished run of the catalog. Anything else names a run.

    Raises:
        ResultsError: there is no such run, or nothing to compare it with.
        UsageError: the runs are of two environments.
    """
    results = results_for(settings)
    index = RunIndex(results).refreshed()
    runs = [index.records[name] for name in sorted(index.records)]
    now = results.plan(run_id) if run_id is not None else _newest(runs, results.store.url)
    earlier = [
        run for run in runs if run.plan.run_id < now.run_id and run.plan.environment == now.environment and run.legs
    ]
    of_catalog = [
        run for run in earlier if run.plan.catalog == now.catalog and run.plan.catalog_kind not in PARTIAL_KINDS
    ]
    match against:
        case "previous":
            before = [run.plan for run in earlier][-_MOST_RUNS:]
            whole = next((run.plan for run in reversed(of_catalog) if _is_finished_whole(run)), None)
        case "baseline":
            before = [run.plan for run in of_catalog if _is_finished_whole(run)][:1]
            whole = next(iter(before), None)
        case _:
            other = results.plan(against)
            before, whole = [other], other if holds_whole_catalog(other) and other.catalog == now.catalog else None
    if not before:
        raise ResultsError(f"There is nothing to compare the run {now.run_id} with: no earlier run is like it.")
    _refuse_two_environments(now, before)
    return Comparison(results=results, now=now, before=before, whole=whole, commits=_commits(runs))


def _newest(runs: Iterable[RunRecord], url: str) -> Plan:
    with_rows = [run.plan for run in runs if run.legs]
    if not with_rows:
        raise ResultsError(f"There is no run with rows in {url}; begin one with: proofsweep verify CATALOG")
    return with_rows[-1]


def _is_finished_whole(run: RunRecord) -> bool:
    return run.remaining == 0 and holds_whole_catalog(run.plan)


def _refuse_two_environments(now: Plan, before: Iterable[Plan]) -> None:
    for plan in before:
        if plan.environment != now.environment:
            raise UsageError(
                f"The run {now.run_id} is of the environment {now.environment!r}, and {plan.run_id} of "
                f"{plan.environment!r}: verdicts of one say nothing about the other."
            )


def _commits(runs: Iterable[RunRecord]) -> dict[str, str]:
    """Give the service's commit in each run, by its last leg that knows it."""
    known = {}
    for run in runs:
        for leg in run.legs:
            commit = leg.counts.get("service_commit")
            if isinstance(commit, str):
                known[run.plan.run_id] = commit
    return known
