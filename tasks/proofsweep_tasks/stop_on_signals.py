"""Stop a run on Ctrl-C or SIGTERM: the first finishes the files in flight, the second ends the process."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from proofsweep.endings import EndedBy
from proofsweep.errors import ResultsError, RunMustStop
from proofsweep.logs import Event, log
from proofsweep.verify.leg.leg_context import LegContext
from proofsweep.wiring.engines import Engine
from proofsweep_tasks.cancelled_run import is_cancelled_in_prefect
from proofsweep_tasks.signal_thread import OVER, STOP_ASKED, next_signal, signal_thread

_LAST_FLUSH_SECONDS = 2.0  # bounds the last flush of the journal


@contextmanager
def stopped_on_signals(engine: Engine) -> Iterator[None]:
    """Stop the leg at the first signal; files in flight have `drain_seconds`. End the process at the second."""
    with signal_thread(lambda reader: _stop_when_asked(engine, reader), engine.stop):
        yield


def _stop_when_asked(engine: Engine, reader: socket.socket) -> None:
    first = next_signal(reader)
    if first == OVER:
        return
    STOP_ASKED.set()
    log(Event.STOP_REQUESTED, signal=signal.Signals(first).name)
    if first == signal.SIGTERM and not is_cancelled_in_prefect():
        engine.stop.pull(RunMustStop("The process was asked to end (SIGTERM).", ended_by=EndedBy.INTERRUPTED))
    else:
        engine.stop.pull(RunMustStop("The run was asked to stop.", ended_by=EndedBy.CANCELLED))
    try:
        second = next_signal(reader, engine.settings.bounds.drain_seconds)
    except TimeoutError:
        engine.abort()
        second = next_signal(reader)
    if second != OVER:
        _exit_now(engine.leg)


def _exit_now(leg: LegContext | None) -> None:
    if leg is not None:
        flush = threading.Thread(target=_flush_journal, args=(leg,), daemon=True)
        flush.start()
        flush.join(_LAST_FLUSH_SECONDS)
        command = f"proofsweep resume {leg.plan.run_id} (and the options of this command)"
        sys.stderr.write(f"\nproofsweep: Ended at once. Finished files are kept. Continue with: {command}\n")
    sys.stderr.flush()
    os._exit(EndedBy.CANCELLED.ending.exit_code)


def _flush_journal(leg: LegContext) -> None:
    with suppress(ResultsError):
        leg.journal.flush()
