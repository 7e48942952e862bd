"""End a run in good order when it is asked to stop."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue

from proofsweep.bootstrap.engines import Engine
from proofsweep.bootstrap.runs import desks
from proofsweep.errors import ResultsError, RunMustStop
from proofsweep.logs import Event, log

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_OVER = 0
_EXIT_CANCELLED = 6
_LAST_WRITE_SECONDS = 2.0


@contextmanager
def drained_on_signals(engine: Engine) -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM finish what is in hand, for a while; the second ends the process at once.

    Prefect sets handlers of its own before a flow's body runs, so ours are set inside it, and put back after it. They
    only pass the signal on to a thread, since what they interrupt may hold any lock.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: SimpleQueue[int] = SimpleQueue()
    thread = threading.Thread(target=_end_when_asked, args=(engine, asked), name="drain", daemon=True)
    thread.start()
    before = {number: signal.signal(number, lambda number, _frame: asked.put(number)) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        asked.put(_OVER)
        thread.join()


def _end_when_asked(engine: Engine, asked: SimpleQueue[int]) -> None:
    first = asked.get()
    if first == _OVER:
        return
    engine.stop.pull(RunMustStop("The run was asked to stop.", ended_by="cancelled"))
    log(Event.STOP_ASKED, signal=signal.Signals(first).name)
    try:
        second = asked.get(timeout=engine.settings.bounds.drain_seconds)
    except Empty:
        engine.cut_off()
        second = asked.get()
    if second != _OVER:
        _leave()


def _leave() -> None:
    """End the process; what was finished in the last second is written down first, if the store takes it soon."""
    writing = threading.Thread(target=_write_down, daemon=True)
    writing.start()
    writing.join(_LAST_WRITE_SECONDS)
    for desk in desks():
        line = f"proofsweep: ended at once; what was finished is kept. Go on with: proofsweep resume {desk.plan.run_id}"
        sys.stderr.write(f"\n{line} (and the options of this command)\n")
    sys.stderr.flush()
    os._exit(_EXIT_CANCELLED)


def _write_down() -> None:
    for desk in desks():
        with suppress(ResultsError):
            desk.journal.flush()
