"""What Prefect knows of this process's flow run, and how the flow run tells people and ends."""

import logging
import os
import threading
from contextlib import suppress
from uuid import UUID

import httpx
from prefect import get_client
from prefect.artifacts import create_markdown_artifact
from prefect.client.schemas.objects import StateType
from prefect.context import FlowRunContext
from prefect.exceptions import PrefectException
from prefect.logging.handlers import PrefectConsoleHandler
from prefect.runtime import flow_run
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from proofsweep.alerts.send import Gather
from proofsweep.app import App
from proofsweep.config.logs import LogEvent, log
from proofsweep.config.notices import say
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.text import without_logins

_ASK_SECONDS = 10.0  # bounds the question whether somebody cancelled the flow run; the run goes on meanwhile
_REPORT_SECONDS = 5.0  # how long a process that ends may tell Prefect so


def is_deployed() -> bool:
    """Whether this flow run is a deployment's own, not one that such a run calls."""
    # `prefect.runtime` would ask the server, which may be lost or slow.
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        return False
    return context.flow_run.deployment_id is not None


def is_of_worker() -> bool:
    """Whether a worker has started this process for a deployment's run."""
    return "PREFECT__FLOW_RUN_ID" in os.environ


def outlive_worker() -> None:
    """Let log lines of this process go nowhere when its worker is killed, which takes the pipe of its stdout along."""
    # Prefect's console would end the flow run by SystemExit then: after its work it would be Crashed, and run again.
    for handler in logging.getLogger().handlers:
        if isinstance(handler, PrefectConsoleHandler):
            handler.console.on_broken_pipe = lambda: None  # type: ignore[method-assign]  # it is meant to be changed


def is_cancelled_in_prefect() -> bool:
    """Whether somebody cancels this flow run: its worker then sends SIGTERM, as a machine that shuts down does."""
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


def send_alerts(app: App, gather: Gather) -> None:
    """Tell what must be told, each cause once, with the flow run's page. If that fails, one line says so."""
    for line in app.send_alerts(gather, _page):
        log(LogEvent.ALERT_MISSED, why=line)
        say(line)


def _page() -> str | None:
    """Return the address of this flow run's page."""
    address = flow_run.get_flow_run_ui_url() if is_of_worker() else None
    if address is None:
        return None
    # A person who is told of it has a login of his own.
    return without_logins(address)


def show(key: str, text: str) -> None:
    """Show a text of Markdown beside the flow run. If Prefect's server is lost, what was done stands all the same."""
    with suppress(httpx.HTTPError, PrefectException, RuntimeError):
        create_markdown_artifact(key=key, markdown=text)


def end_process_soon(seconds: float = 0.0) -> None:
    """End the process of a deployment's flow run in so many seconds, but not in less than five."""
    # It was asked to stop, and at its exit Prefect waits without end for a server that does not answer.
    if is_of_worker():
        delay = max(seconds, _REPORT_SECONDS)
        timer = threading.Timer(delay, os._exit, [EndedBy.INTERRUPTED.ending.exit_code])
        timer.daemon = True
        timer.start()
