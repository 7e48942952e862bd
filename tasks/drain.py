"""End a run in good order when it is asked to stop."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from proofsweep.bootstrap.engines import Engine
from proofsweep.bootstrap.legs import active_legs
from proofsweep.errors import ResultsError, RunMustStop
from proofsweep.logs import Event, log
from tasks.stop_signals import OVER, next_signal, told_of_signals

_EXIT_CANCELLED = 6
_LAST_WRITE_SECONDS = 2.0


@contextmanager
def drained_on_signals(engine: Engine) -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM finish what is in hand, for a while; the second ends the process at once."""
    with told_of_signals(lambda ear: _end_when_asked(engine, ear)):
        yield


def _end_when_asked(engine: Engine, ear: socket.socket) -> None:
    first = next_signal(ear)
    if first == OVER:
        return
    engine.stop.pull(RunMustStop("The run was asked to stop.", ended_by="cancelled"))
    log(Event.STOP_ASKED, signal=signal.Signals(first).name)
    try:
        second = next_signal(ear, engine.settings.bounds.drain_seconds)
    except TimeoutError:
        engine.abort()
        second = next_signal(ear)
    if second != OVER:
        _leave()


def _leave() -> None:
    """End the process; what was finished in the last second is written down first, if the store takes it soon."""
    writing = threading.Thread(target=_write_down, daemon=True)
    writing.start()
    writing.join(_LAST_WRITE_SECONDS)
    for desk in active_legs():
        line = f"proofsweep: ended at once; what was finished is kept. Go on with: proofsweep resume {desk.plan.run_id}"
        sys.stderr.write(f"\n{line} (and the options of this command)\n")
    sys.stderr.flush()
    os._exit(_EXIT_CANCELLED)


def _write_down() -> None:
    for desk in active_legs():
        with suppress(ResultsError):
            desk.journal.flush()
