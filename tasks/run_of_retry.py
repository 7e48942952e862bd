"""What Prefect tries again: which run a retried flow run works on, and whether a try is the last one."""

from collections.abc import Callable

from prefect.context import FlowRunContext
from prefect.runtime import flow_run


def run_of_this_retry(run_of: Callable[[str], str | None]) -> str | None:
    """Name this flow run's own run if Prefect runs it again; None for a first time, and if it had claimed no leg."""
    flow_run_id = flow_run.get_id()
    return run_of(flow_run_id) if flow_run_id and flow_run.get_run_count() > 1 else None


def tries_left() -> bool:
    """Return whether Prefect would try this flow run again if it failed."""
    context = FlowRunContext.get()
    retries = context.flow.retries if context is not None and context.flow is not None else 0
    return 0 < flow_run.get_run_count() <= retries
