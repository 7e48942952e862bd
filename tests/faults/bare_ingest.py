"""A program for tests: makes passes over a watched folder without an orchestrator, and may kill itself at a step.

Each job is one pass: `FOLDER [STEP WHEN]`. Steps are all changes of the file system by the results store and by moves,
counted from 1; WHEN is before or after. The exit code is 0, or 9 when another process watches the folder.
"""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

from proofsweep.errors import RunIsActive, RunMustStop
from proofsweep.logs import set_up_logs
from proofsweep.settings import load_settings
from proofsweep.verify.leg.work import verify_slice, work_last
from proofsweep.wiring.engines import engine_for
from proofsweep.wiring.legs import claimed_next_leg
from proofsweep.wiring.watching import watched_folder

from .job_server import serve

ANOTHER_IS_ACTIVE = 9


def make_pass(folder: str, step: str = "0", when: str = "never") -> int:
    """Make one pass, perhaps only until one of its steps."""
    numbers = count(1)
    for name in ("rename", "hardlink_to", "unlink", "rmdir", "mkdir", "replace"):
        setattr(Path, name, killing(getattr(Path, name), int(step), when, lambda: next(numbers)))
    try:
        with watched_folder(load_settings(), folder, None) as watched:
            for run_id in watched.one_pass().runs():
                watched.refuse_if_lost()
                verify(run_id)
    except RunIsActive:
        return ANOTHER_IS_ACTIVE
    return 0


def verify(run_id: str) -> None:
    """Work on one leg of a run."""
    leg = claimed_next_leg(engine_for(load_settings()), run_id)
    with suppress(RunMustStop), leg as (_, context):
        for piece in context.remaining.slices():
            verify_slice(context, piece)
        work_last(context)


def killing(act: Callable[..., object], step: int, when: str, number: Callable[[], int]) -> Callable[..., object]:
    """Return a step that may kill this process."""

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
    set_up_logs()
    serve(make_pass)
