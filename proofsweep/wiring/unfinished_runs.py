"""Runs that somebody must go on with, wired: which they are, and how a catalog goes on."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta

from proofsweep.answers.describe_run import describe_run, run_worked_on_by, unfinished_runs
from proofsweep.endings import EndedBy
from proofsweep.errors import NothingDue, RunIsActive, RunMustStop
from proofsweep.model.runs import INGEST, PARTIAL_KINDS, Plan, new_run_id
from proofsweep.settings import Settings
from proofsweep.store.known_rows import are_known_since
from proofsweep.verify.budget.bounds import Bounds, left_of
from proofsweep.verify.leg.leg_context import RemainingItems
from proofsweep.verify.leg.leg_session import settle_last_leg, supersede
from proofsweep.verify.plan.selection import ALL_ROWS, Selection
from proofsweep.wiring.engines import ReadBlock, utc_now
from proofsweep.wiring.runs import catalog_for, identity_of, plan_catalog, refuse_bad_selection
from proofsweep.wiring.stores import results_for


def run_to_resume(settings: Settings, catalog: str | None = None) -> Plan | None:
    """Return the newest unfinished run of a catalog, or of all; None if there is none.

    A run on the way whose remaining rows other runs have finished since is marked as superseded. Of a catalog, runs
    count that were planned at most `bounds.resume_days` ago, and not those of a part of it.

    Raises:
        RunIsActive: the run is worked on.
        CatalogError, ResultsError: the catalog or the store cannot be read.
    """
    results = results_for(settings)
    for plan in filter(None if catalog is None else _is_of(settings, catalog), unfinished_runs(results)):
        settle_last_leg(results, plan, utc_now)
        remaining = RemainingItems(results, plan)
        rest = (item.item_id for item in remaining.all_items())
        if plan.catalog_kind == INGEST or not are_known_since(results, plan, rest):  # a pass ends its own runs
            return plan
        supersede(results, plan, utc_now)
    return None


def _is_of(settings: Settings, catalog: str) -> Callable[[Plan], bool]:
    mine = (settings.service.environment, identity_of(settings, catalog_for(settings, catalog)))
    oldest = new_run_id(utc_now() - timedelta(days=settings.bounds.resume_days), "")

    def is_meant(plan: Plan) -> bool:
        is_whole = plan.catalog_kind not in PARTIAL_KINDS  # a pass over the folder, or a person, goes on with others
        return is_whole and plan.run_id >= oldest and (plan.environment, plan.identity) == mine

    return is_meant


def supersede_older(settings: Settings, new: Plan) -> None:
    """Mark the unfinished runs of a catalog that are older than a new one, which takes their place."""
    results = results_for(settings)
    for plan in unfinished_runs(results):
        is_older = plan.run_id < new.run_id and plan.catalog_kind not in PARTIAL_KINDS
        if is_older and (plan.environment, plan.identity) == (new.environment, new.identity):
            with suppress(RunIsActive):  # then the new one is refused
                supersede(results, plan, utc_now)


def runs_of_catalog(
    settings: Settings,
    given: str | None,
    catalog: str,
    bounds: Bounds,
    read_block: ReadBlock | None,
    *,
    selection: Selection = ALL_ROWS,
) -> Iterator[tuple[str, Bounds]]:
    """Yield the run that is given, else the `runs_in_turn` of a catalog: its unfinished one, then one of the selection.

    UsageError if that cannot be read; then nothing was done.
    """
    if given is not None:
        yield given, bounds
        return
    refuse_bad_selection(settings, catalog, selection, bounds.max_calls)
    unfinished = run_to_resume(settings, catalog)

    def plan(rest: Bounds) -> Plan:
        return plan_catalog(settings, catalog, read_block, selection=selection, bounds=rest, beside=unfinished)

    yield from runs_in_turn(settings, unfinished, plan, bounds)


def runs_in_turn(
    settings: Settings, unfinished: Plan | None, plan: Callable[[Bounds], Plan], bounds: Bounds
) -> Iterator[tuple[str, Bounds]]:
    """Yield the ID and the bounds of each run that is worked on now; the leg of one ends before the next is asked for.

    (1) a catalog's unfinished run, (2) a run of what is due, if calls and time are left. Rows that stay in doubt do not
    stop the second run: they remain for the first one's next leg.

    Args:
        settings: of the runs.
        unfinished: the catalog's last run, if rows of it remain.
        plan: plans what is due.
        bounds: of both runs together.

    Raises:
        NothingDue: there was no run to resume, and no row is due.
        CatalogError, ConfigError, ResultsError, RunMustStop: nothing can be planned.
    """
    if unfinished is None:
        yield plan(bounds).run_id, bounds  # (2)
        return
    yield unfinished.run_id, bounds  # (1)
    run = describe_run(results_for(settings), unfinished.run_id)
    is_done = run.is_over or run.is_in_doubt
    rest = left_of(bounds, run.legs[-1].count("calls") or 0, utc_now()) if is_done else None
    planned = None if rest is None else _planned_if_worthwhile(plan, rest)
    if rest is not None and planned is not None:
        yield planned.run_id, rest  # (2)


def _planned_if_worthwhile(plan: Callable[[Bounds], Plan], bounds: Bounds) -> Plan | None:
    """Plan; None if no row is due, or if the quota leaves no calls for it."""
    try:
        return plan(bounds)
    except NothingDue:
        return None
    except RunMustStop as stop:
        if stop.ended_by == EndedBy.QUOTA:
            return None
        raise


def run_of_retry(settings: Settings, flow_run_id: str | None) -> str | None:
    """Name the run that a retried flow run worked on before; None if it had claimed no leg, or is no retry.

    Raises:
        ResultsError: the store cannot be read.
    """
    if flow_run_id is None:
        return None
    since = utc_now() - timedelta(days=settings.bounds.resume_days)
    return run_worked_on_by(results_for(settings), flow_run_id, since)
