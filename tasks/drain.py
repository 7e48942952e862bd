"""End a run in good order when it is asked to stop."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

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
    do nothing: Python runs them in the main thread alone, which sleeps on when the system hands a signal to another
    one. The bell is rung at once, whichever thread was hit, and who hears it may take any lock.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard, bell = socket.socketpair()
    bell.setblocking(False)
    thread = threading.Thread(target=_end_when_asked, args=(engine, heard), name="drain", daemon=True)
    thread.start()
    bell_before = signal.set_wakeup_fd(bell.fileno(), warn_on_full_buffer=False)
    before = {number: signal.signal(number, lambda _number, _frame: None) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(bell_before)
        bell.send(bytes([_OVER]))
        thread.join()
        bell.close()
        heard.close()


def _end_when_asked(engine: Engine, heard: socket.socket) -> None:
    first = _next_of(heard)
    if first == _OVER:
        return
    engine.stop.pull(RunMustStop("The run was asked to stop.", ended_by="cancelled"))
    log(Event.STOP_ASKED, signal=signal.Signals(first).name)
    heard.settimeout(engine.settings.bounds.drain_seconds)
    try:
        second = _next_of(heard)
    except TimeoutError:
        engine.cut_off()
        heard.settimeout(None)
        second = _next_of(heard)
    if second != _OVER:
        _leave()


def _next_of(heard: socket.socket) -> int:
    """Wait for a signal to stop, or for the end; other signals that Python handles ring the same bell."""
    while (number := heard.recv(1)[0]) not in {*_SIGNALS, _OVER}:
        pass
    return number


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
