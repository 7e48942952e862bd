"""Kill a command after any of its lines, in this process: nothing that comes later has an effect."""

import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import FrameType

CORE = Path(__file__).parents[2] / "proofsweep"
LINES_BETWEEN_KILLS = 1 if "PROOFSWEEP_SOAK_KILLS" in os.environ else 7


class Killed(BaseException):
    """Stands for SIGKILL."""


def is_whole_after(
    lines: int, files: tuple[str, ...], work: Callable[[], object], functions: Collection[str] = ()
) -> bool:
    """Kill some work, with the threads that it begins, after so many lines of some files, by their paths' ends.

    Only lines of these functions count, if any are named. Return whether the work came to its end before.
    """
    assert all(any(CORE.glob(f"**/{file}")) for file in files), "a file was moved, and its lines are not killed"
    left = lines

    def trace(frame: FrameType, event: str, _argument: object) -> Callable[..., object] | None:
        nonlocal left
        code = frame.f_code
        if not code.co_filename.endswith(files) or (functions and code.co_name not in functions):
            return None
        if event == "line":
            left -= 1
            if left < 0:  # also in each `finally` on the way out
                raise Killed
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    threading.settrace(trace)
    try:
        next(_apart(work))
    except Killed:
        pass
    finally:
        sys.settrace(before)
        threading.settrace(None)
    return left >= 0


def _apart(work: Callable[[], object]) -> Iterator[object]:
    """Do the work in a generator, which has handled exceptions of its own.

    A kill at the first line of an `except` leaves its exception as one that is handled: elsewhere, every later
    exception of the thread would have it as its context.
    """
    yield work()
