"""Run the verify flow in this process, against the configured Prefect server or an embedded one, and show it."""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from typing import Any

import httpx

from proofsweep.app import App
from proofsweep.config.notices import say
from proofsweep.config.threads import background_thread, utc_now
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError, RunMustStop
from proofsweep.domain.runs import Bounds
from proofsweep.domain.text import without_logins
from proofsweep.queries.status import RunStatus, describe_run
from proofsweep_cli.command import CommandRequest
from proofsweep_cli.embedded_server import EmbeddedServer
from proofsweep_cli.imports import no_garbage_looked_for
from proofsweep_cli.prefect_api import prefect_watched
from proofsweep_cli.run_screen import display, progress_lines, report
from proofsweep_cli.screen import PURPLE, Screen, flush, styled
from proofsweep_tasks.stop_on_signals import STOP_ASKED

_LIVE_SECONDS = 0.25
_ELSEWHERE_SECONDS = 1.0  # where other processes work, and tell of it every ten seconds
_PLAIN_SECONDS = 10.0


def require_ready(server: EmbeddedServer) -> None:
    """Return when a flow can begin; PrefectIsAway if it cannot."""
    with no_garbage_looked_for():
        import fastapi.encoders  # noqa: F401, PLC0415 - Prefect would at the first flow, when the server waits for it

        import proofsweep_flows.verify_catalog  # noqa: F401, PLC0415 - a second to import, in which the server starts

    server.wait_until_up()


def run_leg(
    request: CommandRequest, run: RunStatus, bounds: Bounds, server: EmbeddedServer | None, *, goes_on: bool = False
) -> RunStatus:
    """Verify what remains of a run, and return how it stands then.

    A process that `goes_on` with other runs waits until Prefect's client gives a lost server up.
    """
    # A leg without rows would be one more receipt, and a server would start for nothing.
    if run.legs and not run.remaining:
        return run
    if server is not None:
        with request.out.status("starting a Prefect server …"):
            require_ready(server)
    _run(request, run, bounds, server, goes_on=goes_on)
    return describe_run(request.app.results, run.plan.run_id)


def _run(
    request: CommandRequest, before: RunStatus, bounds: Bounds, server: EmbeddedServer | None, *, goes_on: bool
) -> None:
    """Run the flow. If Prefect's server is lost after the leg is settled, exit without waiting for Prefect."""
    from prefect.exceptions import CancelledRun, FailedRun  # noqa: PLC0415 - seconds to import
    from prefect.settings import temporary_settings  # noqa: PLC0415

    from proofsweep_flows.verify_catalog import verify_catalog  # noqa: PLC0415 - the same

    run_id = before.plan.run_id
    show_progress = partial(_show_progress, request.out, request.app)

    def exit_without_prefect() -> None:
        # A watch must not end here: Prefect's client gives a lost server up after a while, and the next pass begins.
        if goes_on:
            return
        end_progress()
        _report_lost_server()
        run = describe_run(request.app.results, run_id)
        code = report(request, run)
        if server is not None:
            server.close()
        flush()
        os._exit(code)

    own_server_settings: AbstractContextManager[object] = nullcontext()
    if server is not None:
        own_server_settings = temporary_settings(_settings_for_own_server())
    closes_at = None if bounds.closes_at is None else bounds.closes_at.isoformat()
    with (
        _terminal_kept_quiet(),
        own_server_settings,
        background_thread("progress", show_progress) as end_progress,
        prefect_watched(request.app, server, exit_without_prefect),
        _errors_explained(request, before),
    ):
        state = verify_catalog(
            run_id=run_id,
            config=request.config,
            results=request.results,
            max_calls=bounds.max_calls,
            until=closes_at,
            return_state=True,
        )
        # A run that only stopped early has its ending in its receipt.
        with suppress(CancelledRun, FailedRun):
            state.result()


def _settings_for_own_server() -> dict[Any, object]:
    from prefect.settings import (  # noqa: PLC0415 - seconds to import
        PREFECT_CLIENT_CSRF_SUPPORT_ENABLED,
        PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
    )

    return {
        # Heartbeats are a thread that ends a second late, and our own server tells nobody of a crash.
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
        # It has no such tokens, and is of this version: each client would ask both.
        PREFECT_CLIENT_CSRF_SUPPORT_ENABLED: False,
        PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED: False,
    }


@contextmanager
def _errors_explained(request: CommandRequest, before: RunStatus) -> Iterator[None]:
    """Turn an error around the flow into one line: the store failed, or Prefect did. A settled leg stays settled."""
    resume = request.command("resume", before.plan.run_id)
    try:
        yield
    except ResultsError as error:
        message = f"{error.message} What was written before is kept. When the store works again: {resume}"
        raise RunMustStop(message, ended_by=EndedBy.BREAKER) from error
    # Our own client gives values: these errors are Prefect's.
    except (httpx.HTTPError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not str(error).startswith("Failed to reach API"):
            raise
        now = describe_run(request.app.results, before.plan.run_id)
        # The leg has its receipt: Prefect lost only its own record.
        if len(now.legs) > len(before.legs) and now.ended_by is not None:
            _report_lost_server()
            return
        reason = without_logins(str(error))
        message = f"The Prefect server failed ({reason}). When it works again: {resume}"
        raise RunMustStop(message, ended_by=EndedBy.KILLED) from error


def _report_lost_server() -> None:
    say("The Prefect server is lost, with its own record of this run. No result is lost.")


@contextmanager
def _terminal_kept_quiet() -> Iterator[None]:
    """Send log lines only to the server, not to the terminal; import Prefect first."""
    from prefect.logging.handlers import APILogHandler, PrefectConsoleHandler  # noqa: PLC0415 - seconds to import

    # No traceback for a log line that finds no server.
    logging.raiseExceptions = False
    # These print each event that finds no server.
    for name in ("prefect._internal", "prefect._internal.concurrency"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    for handler in logging.getLogger().handlers:
        if isinstance(handler, PrefectConsoleHandler):
            handler.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        APILogHandler().flush()


def _show_progress(out: Screen, app: App, over: threading.Event) -> None:
    """Show the progress of this process's leg, or of the legs elsewhere, until it is over."""
    with display(out) as show:
        while not over.wait(_seconds_between(out, app)):
            progress = app.progress()
            if progress is None:
                continue
            lines = progress_lines(progress)
            # A stop in good order takes a while: a person sees that it was heard, and what would be faster.
            if STOP_ASKED.is_set():
                lines.append(styled("Ctrl-C again ends at once.", PURPLE))
            show(lines, utc_now())


def _seconds_between(out: Screen, app: App) -> float:
    if not out.is_terminal:
        return _PLAIN_SECONDS
    if app.leg is None:
        return _ELSEWHERE_SECONDS
    return _LIVE_SECONDS
