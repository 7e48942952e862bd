"""What Prefect tries again: whether a flow run is a retry, and whether a try is the last one."""

from prefect.context import FlowRunContext
from prefect.runtime import flow_run


def retried_flow_run() -> str | None:
    """Return this flow run's ID if Prefect runs it again; None for a first time."""
    return flow_run.get_id() if flow_run.get_run_count() > 1 else None


def tries_left() -> bool:
    """Whether Prefect would try this flow run again if it failed."""
    context = FlowRunContext.get()
    retries = context.flow.retries if context is not None and context.flow is not None else 0
    return 0 < flow_run.get_run_count() <= retries
