"""Stop a run on Ctrl-C or SIGTERM: the first finishes the files in flight, the second ends the process."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from proofsweep.app import App
from proofsweep.config.logs import Event, log
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError, RunMustStop
from proofsweep.verify.service import Service
from proofsweep.verify.session import LegContext
from proofsweep_tasks.signal_thread import OVER, STOP_ASKED, next_signal, signal_thread
from proofsweep_tasks.this_flow_run import end_process_soon, is_cancelled_in_prefect

_LAST_FLUSH_SECONDS = 2.0  # bounds the last flush of the journal
_TELL_SECONDS = 7.0  # how long after the files in flight a flow run may tell its end to people and to Prefect


@contextmanager
def stopped_on_signals(app: App) -> Iterator[None]:
    """Stop the leg at the first signal; files in flight have `drain_seconds`. End the process at the second.

    A flow run of a deployment does not outlive this time by more than ten seconds.
    """
    service, asked_at = app.service, list[float]()
    try:
        with signal_thread(lambda reader: _stop_when_asked(app, service, reader, asked_at), service.stop):
            yield
    finally:
        for at in asked_at:
            end_process_soon(at + app.settings.bounds.drain_seconds + _TELL_SECONDS - time.monotonic())


def _stop_when_asked(app: App, service: Service, reader: socket.socket, asked_at: list[float]) -> None:
    first = next_signal(reader)
    if first == OVER:
        return
    asked_at.append(time.monotonic())
    STOP_ASKED.set()
    log(Event.STOP_REQUESTED, signal=signal.Signals(first).name)
    if first == signal.SIGTERM and not is_cancelled_in_prefect():
        service.stop.pull(RunMustStop("The process was asked to end (SIGTERM).", ended_by=EndedBy.INTERRUPTED))
    else:
        service.stop.pull(RunMustStop("The run was asked to stop.", ended_by=EndedBy.CANCELLED))
    try:
        second = next_signal(reader, app.settings.bounds.drain_seconds)
    except TimeoutError:
        service.abort()
        second = next_signal(reader)
    if second != OVER:
        _exit_now(app)


def _exit_now(app: App) -> None:
    leg = app.leg
    if leg is not None:
        flush = threading.Thread(target=_flush_journal, args=(leg,), daemon=True)
        flush.start()
        flush.join(_LAST_FLUSH_SECONDS)
    if run_id := app.run_elsewhere if leg is None else leg.plan.run_id:
        command = f"proofsweep resume {run_id} (and the options of this command)"
        sys.stderr.write(f"\nproofsweep: Ended at once. Finished files are kept. Continue with: {command}\n")
    sys.stderr.flush()
    os._exit(EndedBy.CANCELLED.ending.exit_code)


def _flush_journal(leg: LegContext) -> None:
    with suppress(ResultsError):
        leg.trail.journal.flush()
