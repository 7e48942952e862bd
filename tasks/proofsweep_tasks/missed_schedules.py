"""Let one flow run stand for all scheduled runs that were missed while no worker was there."""

from contextlib import suppress
from datetime import UTC, datetime
from uuid import UUID

import httpx
from prefect import get_client, get_run_logger
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterDeploymentId,
    FlowRunFilterNextScheduledStartTime,
    FlowRunFilterState,
    FlowRunFilterStateName,
)
from prefect.exceptions import ObjectNotFound, PrefectException
from prefect.runtime import deployment
from prefect.states import Cancelled

# A run that waits for a slot is in neither: it is not a missed one.
_NOT_STARTED = ["Scheduled", "Late"]

_WHY = "Missed: another run of the deployment does its work."


def cancel_missed_runs() -> None:
    """Cancel the runs of this deployment that are due by their schedule: this flow run does their work.

    A server that cannot do it, such as one whose SQLite is locked, keeps nobody from the work itself.
    """
    if deployment.id is None:
        return
    try:
        _cancel_runs_of(UUID(deployment.id))
    except (httpx.HTTPError, PrefectException) as error:
        get_run_logger().warning("Missed runs were not cancelled: %s", type(error).__name__)


def _cancel_runs_of(deployment_id: UUID) -> None:
    missed = FlowRunFilter(
        deployment_id=FlowRunFilterDeploymentId(any_=[deployment_id]),
        state=FlowRunFilterState(name=FlowRunFilterStateName(any_=_NOT_STARTED)),
        next_scheduled_start_time=FlowRunFilterNextScheduledStartTime(before_=datetime.now(UTC)),
    )
    with get_client(sync_client=True) as client:
        for run in client.read_flow_runs(flow_run_filter=missed):
            if run.auto_scheduled and run.run_count == 0:  # a person's own run and a retry have work of their own
                with suppress(ObjectNotFound):  # somebody deleted it meanwhile
                    client.set_flow_run_state(run.id, Cancelled(message=_WHY))
