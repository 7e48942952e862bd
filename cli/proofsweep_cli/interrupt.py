"""Let signals end a command that goes on until it is told to stop."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from proofsweep_tasks.signal_thread import STOP_ASKED


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Set `STOP_ASKED` and raise KeyboardInterrupt on Ctrl-C and on SIGTERM, wherever no leg takes them itself.

    A service manager sends SIGTERM, and Python does not hear SIGINT where it is ignored, as in a script's background
    job. The exception alone is not enough: Python drops one that is raised while an object is destroyed.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, _interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: object) -> NoReturn:
    STOP_ASKED.set()
    raise KeyboardInterrupt
