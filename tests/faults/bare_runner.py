"""A program for tests: works on a run without an orchestrator, and may kill itself at one of its writes.

plan CATALOG                 plans a run
sweep CATALOG                works on the catalog's unfinished run, or on a new one
leg RUN_ID [WRITE WHEN]      WHEN is before, half or after; writes are counted from 1; a bucket knows no half
seize RUN_ID                 the same, but it takes every other leg for dead

A leg exits with 0 when its run is complete, 3 while rows remain, 9 when another leg is active; 1 is an unexpected
error.
"""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from ..worlds import core
from .job_server import serve

BATCHES_AT_ONCE = 2
BATCH_ITEMS = 20
"""So small that small runs have several batches."""
ROWS_PER_PART = 30
"""So few that a leg publishes while it works."""
ROWS_REMAIN = 3
ANOTHER_IS_ACTIVE = 9


@dataclass
class KillAtWrite:
    write: int
    when: str
    numbers: Callable[[], int]

    def wrapped(self, act: Callable[..., None]) -> Callable[..., None]:
        def write(store: object, name: str, *content: bytes) -> None:
            is_last = self.numbers() == self.write
            if is_last and self.when == "before":
                die()
            if is_last and self.when == "half":
                core.write_files_by(write_half)  # the next file is this one's
            act(store, name, *content)
            if is_last:
                die()

        return write


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def write_half(path: Path, content: bytes) -> None:
    path.write_bytes(content[: len(content) // 2])
    die()


def plan(catalog: str) -> int:
    core.plan(catalog)
    return 0


def work(run_id: str, write: str = "0", when: str = "never") -> int:
    """Work on one leg, perhaps only until one of its writes."""
    numbers = count(1)
    core.wrap_writes(KillAtWrite(int(write), when, lambda: next(numbers)).wrapped)
    try:
        core.work(run_id, BATCHES_AT_ONCE)
    except core.RunIsActive:
        return ANOTHER_IS_ACTIVE
    return ROWS_REMAIN if core.remaining(run_id) else 0


def sweep(catalog: str) -> int:
    try:
        run_id = core.plan(catalog, resumes=True)
    except core.RunIsActive:
        return ANOTHER_IS_ACTIVE
    return work(run_id)


def seize(run_id: str) -> int:
    core.set_chosen(pytest.MonkeyPatch(), stale_seconds=-1)
    return work(run_id)


def do(job: str, *arguments: str) -> int:
    jobs: dict[str, Callable[..., int]] = {"plan": plan, "sweep": sweep, "leg": work, "seize": seize}
    return jobs[job](*arguments)


if __name__ == "__main__":
    core.set_up_logs()
    core.set_chosen(pytest.MonkeyPatch(), batch_items=BATCH_ITEMS, rows_per_part=ROWS_PER_PART, small_run_items=0)
    serve(do)
