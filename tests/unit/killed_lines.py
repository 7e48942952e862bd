"""Kill a command after any of its lines, in this process: nothing that comes later has an effect."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

CORE = Path(__file__).parents[2] / "proofsweep"


class Killed(BaseException):
    """Stands for SIGKILL."""


@contextmanager
def killed_after(lines: int, files: tuple[str, ...]) -> Iterator[Callable[[], bool]]:
    """Kill the work inside, with the threads that it begins, after so many lines of some files, by their paths' ends.

    Yields:
        says afterwards whether the work came to its end before.
    """
    assert all(any(CORE.glob(f"**/{file}")) for file in files), "a file was moved, and its lines are not killed"
    left = lines

    def trace(frame: FrameType, event: str, _argument: object) -> Callable[..., object] | None:
        nonlocal left
        if not frame.f_code.co_filename.endswith(files):
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
        yield lambda: left >= 0
    except Killed:
        pass
    finally:
        sys.settrace(before)
        threading.settrace(None)
