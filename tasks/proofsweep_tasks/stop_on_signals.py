"""Stop a run on Ctrl-C, SIGTERM or SIGHUP: the first finishes the files in flight, the second ends the process."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from proofsweep.config.logs import LogEvent, log
from proofsweep.config.notices import say
from proofsweep.config.threads import background_thread
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError, RunMustStop
from proofsweep_tasks.signal_bytes import OVER, next_signal, signals_sent_to

if TYPE_CHECKING:  # commands that never run a leg import this too
    from proofsweep.app import App
    from proofsweep.verify.service import Service


STOP_ASKED = threading.Event()
"""Whether a signal has asked this process to stop. A leg may still end whole, if all its files were in flight."""

_LAST_FLUSH_SECONDS = 2.0  # bounds the last flush of the journal
_TELL_SECONDS = 7.0  # how long after the files in flight a flow run may tell its end to people and to Prefect


@contextmanager
def stopped_on_signals(app: "App") -> Iterator[None]:
    """Stop the leg at the first signal; files in flight have `drain_seconds`. End the process at the second.

    A flow run of a deployment does not outlive this time by more than ten seconds.
    """
    # Once: after a stop, the app would open another service.
    service = app.service
    asked_at: list[float] = []
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    reader, writer = socket.socketpair()
    watch = partial(_stop_when_asked, app, service, reader, asked_at)
    try:
        with reader, writer, background_thread("signals", watch, service.stop.pull), signals_sent_to(writer):
            yield
    finally:
        for at in asked_at:
            from proofsweep_tasks.this_flow_run import end_process_soon  # noqa: PLC0415 - Prefect, which is slow

            last = at + app.settings.bounds.drain_seconds + _TELL_SECONDS
            end_process_soon(last - time.monotonic())


def _stop_when_asked(
    app: "App", service: "Service", reader: socket.socket, asked_at: list[float], _over: threading.Event
) -> None:
    from proofsweep_tasks.this_flow_run import is_cancelled_in_prefect  # noqa: PLC0415 - the same

    first = next_signal(reader)
    if first == OVER:
        return
    asked_at.append(time.monotonic())
    STOP_ASKED.set()
    name = signal.Signals(first).name
    log(LogEvent.STOP_REQUESTED, signal=name)
    stop = RunMustStop("The run was asked to stop.", ended_by=EndedBy.CANCELLED)
    if first != signal.SIGINT and not is_cancelled_in_prefect():
        stop = RunMustStop(f"The process was asked to end ({name}).", ended_by=EndedBy.INTERRUPTED)
    service.stop.pull(stop)
    try:
        # A terminal that is closed sends SIGHUP twice: from its shell, and from the system.
        second = next_signal(reader, app.settings.bounds.drain_seconds, signal.SIGHUP)
    except TimeoutError:
        service.abort()
        second = next_signal(reader, without=signal.SIGHUP)
    if second != OVER:
        _exit_now(app)


def _exit_now(app: "App") -> None:
    leg = app.leg
    run_id = app.run_elsewhere if leg is None else leg.plan.run_id
    if leg is not None:

        def flush() -> None:
            with suppress(ResultsError):
                leg.trail.journal.flush()

        # In a thread of its own: a store that hangs would keep the process, which a person has asked twice to end.
        flushing = threading.Thread(target=flush, daemon=True)
        flushing.start()
        flushing.join(_LAST_FLUSH_SECONDS)
    if run_id:
        command = f"proofsweep resume {run_id} (and the options of this command)"
        say(f"Ended at once. Finished files are kept. Continue with: {command}")
    os._exit(EndedBy.CANCELLED.ending.exit_code)
