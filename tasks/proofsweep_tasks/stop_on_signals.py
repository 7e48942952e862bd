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

if TYPE_CHECKING:  # commands that never run a leg import this too
    from proofsweep.app import App
    from proofsweep.verify.service import Service

STOP_ASKED = threading.Event()
"""Whether a signal has asked this process to stop. A leg may still end whole, if all its files were in flight."""

_OVER = 0  # what the thread receives when the work is over; no signal has this number
_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_LAST_FLUSH_SECONDS = 2.0  # bounds the last flush of the journal
_TELL_SECONDS = 7.0  # how long after the files in flight a flow run may tell its end to people and to Prefect


@contextmanager
def stopped_on_signals(app: "App") -> Iterator[None]:
    """Stop the leg at the first signal; files in flight have `drain_seconds`. End the process at the second.

    A flow run of a deployment does not outlive this time by more than ten seconds.
    """
    service, asked_at = app.service, list[float]()
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    reader, writer = socket.socketpair()
    watch = partial(_stop_when_asked, app, service, reader, asked_at)
    try:
        with reader, writer, background_thread("signals", watch, service.stop.pull), _signals_sent_to(writer):
            yield
    finally:
        for at in asked_at:
            from proofsweep_tasks.this_flow_run import end_process_soon  # noqa: PLC0415 - Prefect, which is slow

            end_process_soon(at + app.settings.bounds.drain_seconds + _TELL_SECONDS - time.monotonic())


@contextmanager
def _signals_sent_to(writer: socket.socket) -> Iterator[None]:
    """Send the number of each signal to the wakeup writer at once, and `_OVER` at the end.

    Prefect sets handlers before a flow's body runs. Ours replace them inside the flow and do nothing: Python runs
    handlers only in the main thread, and that thread sleeps on when the system gives the signal to another one.
    """
    writer.setblocking(False)
    wakeup_before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    heard = _SIGNALS - ({signal.SIGHUP} if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else set())  # by `nohup`
    handlers_before = {number: signal.signal(number, lambda _number, _frame: None) for number in heard}
    try:
        yield
    finally:
        for number, handler in handlers_before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup_before)
        writer.send(bytes([_OVER]))


def _next_signal(reader: socket.socket, seconds: float | None = None, without: int | None = None) -> int:
    """Wait for one of ours or `_OVER`; other signals that Python handles come too. TimeoutError if none came."""
    reader.settimeout(seconds)
    while (number := reader.recv(1)[0]) not in {*_SIGNALS, _OVER} - {without}:
        pass
    return number


def _stop_when_asked(
    app: "App", service: "Service", reader: socket.socket, asked_at: list[float], _over: threading.Event
) -> None:
    from proofsweep_tasks.this_flow_run import is_cancelled_in_prefect  # noqa: PLC0415 - the same

    if (first := _next_signal(reader)) == _OVER:
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
        second = _next_signal(reader, app.settings.bounds.drain_seconds, signal.SIGHUP)
    except TimeoutError:
        service.abort()
        second = _next_signal(reader, without=signal.SIGHUP)
    if second != _OVER:
        _exit_now(app)


def _exit_now(app: "App") -> None:
    if (leg := app.leg) is not None:

        def flush() -> None:
            with suppress(ResultsError):
                leg.trail.journal.flush()

        flushing = threading.Thread(target=flush, daemon=True)
        flushing.start()
        flushing.join(_LAST_FLUSH_SECONDS)
    if run_id := app.run_elsewhere if leg is None else leg.plan.run_id:
        command = f"proofsweep resume {run_id} (and the options of this command)"
        say(f"Ended at once. Finished files are kept. Continue with: {command}")
    os._exit(EndedBy.CANCELLED.ending.exit_code)
