"""Tell a flow run that somebody cancels in Prefect from one whose machine shuts down: both get SIGTERM."""

from uuid import UUID

import httpx
from prefect import get_client
from prefect.client.schemas.objects import StateType
from prefect.exceptions import PrefectException
from prefect.runtime import flow_run
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

_ASK_SECONDS = 10.0  # bounds the question whether somebody cancelled the flow run; the run goes on meanwhile


def is_cancelled_in_prefect() -> bool:
    """Whether somebody cancels this process's flow run; then its worker sends SIGTERM, as at its own end."""
    flow_run_id = flow_run.get_id()  # a thread without context: the one that the worker has started, no part of it
    if flow_run_id is None:
        return False
    once = temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0})
    try:
        with once, get_client(sync_client=True, httpx_settings={"timeout": _ASK_SECONDS}) as client:
            state_type = client.read_flow_run(UUID(flow_run_id)).state_type
            return state_type in {StateType.CANCELLING, StateType.CANCELLED}
    except (httpx.HTTPError, PrefectException):
        return False
