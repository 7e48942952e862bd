"""A program for tests: makes passes over a watched folder without an orchestrator, and may kill itself at a step.

Each job is one pass: `FOLDER [STEP WHEN]`. Steps are all changes of the file system by the results store and by moves,
counted from 1; WHEN is before or after. The exit code is 0, or 9 when another process watches the folder.
"""

import os
import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path

from ..worlds import core
from .job_server import serve

ANOTHER_IS_ACTIVE = 9


def do(folder: str, step: str = "0", when: str = "never") -> int:
    """Make one pass, perhaps only until one of its steps."""
    numbers = count(1)
    for name in ("rename", "hardlink_to", "unlink", "rmdir", "mkdir", "replace"):
        setattr(Path, name, killing(getattr(Path, name), int(step), when, lambda: next(numbers)))
    try:
        core.make_pass(folder)
    except core.RunIsActive:
        return ANOTHER_IS_ACTIVE
    return 0


def killing(act: Callable[..., object], step: int, when: str, number: Callable[[], int]) -> Callable[..., object]:
    def do(*arguments: object, **options: object) -> object:
        is_last = number() == step
        if is_last and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return act(*arguments, **options)
        finally:
            if is_last:
                os.kill(os.getpid(), signal.SIGKILL)

    return do


if __name__ == "__main__":
    core.set_up_logs()
    serve(do)
