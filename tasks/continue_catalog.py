"""What a flow run goes on with: on a retry its own run, else its catalog's unfinished one, then the catalog anew."""

from collections.abc import Callable

from prefect.runtime import flow_run

from proofsweep.bootstrap.engines import utc_now
from proofsweep.bootstrap.runs import plan_catalog, run_of_retry, run_to_resume
from proofsweep.domain.budget.bounds import Bounds, left_of
from proofsweep.domain.runs import EndedBy
from proofsweep.errors import RunMustStop
from proofsweep.reporting.run_status import RunStatus
from proofsweep.settings import Settings
from tasks.key_block import read_block


def own_run_of_retry(settings: Settings) -> str | None:
    """Name this flow run's own run if Prefect runs it again; None for a first time, and if it had claimed no leg."""
    flow_run_id = flow_run.get_id()
    return run_of_retry(settings, flow_run_id) if flow_run_id and flow_run.get_run_count() > 1 else None


def resume_then_plan(
    settings: Settings, catalog: str, bounds: Bounds, verify: Callable[[str, Bounds], RunStatus]
) -> RunStatus:
    """Verify what remains of a catalog's last run, then all of it if calls and time are left; give the last status."""
    unfinished = run_to_resume(settings, catalog)
    if unfinished is None:
        return verify(plan_catalog(settings, catalog, read_block, reserve=bounds.reserve).run_id, bounds)
    run = verify(unfinished, bounds)
    rest = None if run.remaining else left_of(bounds, run.legs[-1].count("calls") or 0, utc_now())
    planned = None if rest is None else _planned_within_quota(settings, catalog, rest)
    return run if rest is None or planned is None else verify(planned, rest)


def _planned_within_quota(settings: Settings, catalog: str, bounds: Bounds) -> str | None:
    """Plan a catalog and give the run's id; None if the quota leaves no calls for it."""
    try:
        return plan_catalog(settings, catalog, read_block, reserve=bounds.reserve).run_id
    except RunMustStop as stop:
        if stop.ended_by == EndedBy.QUOTA:
            return None
        raise
