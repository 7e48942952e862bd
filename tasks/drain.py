"""End a run in good order when it is asked to stop."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from proofsweep.client.stop import StopSwitch
from proofsweep.errors import RunMustStop
from proofsweep.logs import Event, log

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_EXIT_CANCELLED = 6


@contextmanager
def drained_on_signals(stop: StopSwitch) -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM finish what is in hand; the second ends the process at once.

    Prefect sets handlers of its own before a flow's body runs, so ours are set inside it, and put back after it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, _frame: FrameType | None) -> None:
        if stop.reason is not None:
            os._exit(_EXIT_CANCELLED)  # the journal holds what was finished until a second ago
        stop.pull(RunMustStop("The run was asked to stop.", ended_by="cancelled"))
        log(Event.STOP_ASKED, signal=signal.Signals(number).name)

    before = {number: signal.signal(number, ask) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
