"""Work on runs without an orchestrator: each job is a process of its own, which may kill itself at one of its writes.

plan CATALOG [WRITE WHEN]    plans a run
sweep CATALOG                works on the catalog's unfinished run, or on a new one
leg RUN_ID [WRITE WHEN]      WHEN is before, half or after; writes are counted from 1; a bucket knows no half
seize RUN_ID                 the same, but it takes every other leg for dead
pass FOLDER [STEP WHEN]      watches a folder once; steps are the renames, links and deletions of the file system
share FOLDER [STEP WHEN]     the same, and the folder lies on a share without hard links

A job exits with 0 when its run is complete, 3 while rows remain, 9 when another one is active; 1 is an unexpected
error.
"""

import errno
import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ..worlds import core
from ..worlds.started_command import ForkedProcess

BATCHES_AT_ONCE = 2
BATCH_ITEMS = 20
"""So small that small runs have several batches."""
ROWS_PER_PART = 30
"""So few that a leg publishes while it works."""
ROWS_REMAIN = 3
ANOTHER_IS_ACTIVE = 9


class Runner:
    """Does one job at a time, with the settings that hold when it begins."""

    def begin(self, job: str) -> int:
        """Start a job; give its process ID."""
        self._process = ForkedProcess(do, *job.split())
        return self._process.pid

    def exit_code(self) -> int:
        """Wait for the end of the job that was started; give its exit code."""
        return self._process.wait()

    def do(self, job: str) -> int:
        self.begin(job)
        return self.exit_code()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def write_half(path: Path, content: bytes) -> None:
    path.write_bytes(content[: len(content) // 2])
    die()


def plan(catalog: str, write: str = "0", when: str = "never") -> int:
    """Plan a run, perhaps only until one of the writes."""
    core.wrap_writes(killing_at(int(write), when))
    core.plan(catalog)
    return 0


def work(run_id: str, write: str = "0", when: str = "never") -> int:
    """Work on one leg, perhaps only until one of its writes."""
    core.wrap_writes(killing_at(int(write), when))
    core.work(run_id, BATCHES_AT_ONCE)
    return ROWS_REMAIN if core.remaining(run_id) else 0


def sweep(catalog: str) -> int:
    return work(core.plan(catalog, resumes=True))


def seize(run_id: str) -> int:
    core.set_chosen(pytest.MonkeyPatch(), stale_seconds=-1)
    return work(run_id)


def make_pass(folder: str, step: str = "0", when: str = "never") -> int:
    """Make one pass, perhaps only until one of its steps."""
    count_steps(int(step), when)
    core.make_pass(folder)
    return 0


def make_pass_on_share(folder: str, step: str = "0", when: str = "never") -> int:
    refuse_links_in(folder)
    return make_pass(folder, step, when)


def count_steps(step: int, when: str) -> None:
    """Let this process die at one of its steps."""
    killing = killing_at(step, when)
    for name in ("rename", "hardlink_to", "unlink", "rmdir", "mkdir", "replace"):
        setattr(Path, name, killing(getattr(Path, name)))


def refuse_links_in(folder: str) -> None:
    """Answer as a share does that has no hard links."""
    link = os.link

    def link_elsewhere(source: str, target: str, **options: Any) -> None:  # noqa: ANN401 - as `os.link` takes them
        if os.fspath(target).startswith(f"{folder}/"):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), target)
        link(source, target, **options)

    os.link = link_elsewhere  # type: ignore[assignment]  # its types are of many kinds of paths


def killing_at(step: int, when: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return what wraps functions so that the process dies at the call, of all of them, with this number."""
    numbers = count(1)

    def wrap(act: Callable[..., None]) -> Callable[..., None]:
        def change(*arguments: object, **options: object) -> None:
            is_last = next(numbers) == step
            if is_last and when == "before":
                die()
            if is_last and when == "half":
                core.write_files_by(write_half)  # the next file is this one's
            try:
                return act(*arguments, **options)
            finally:
                if is_last:
                    die()

        return change

    return wrap


def do(job: str, *arguments: str) -> None:
    """Do a job, and exit with its code."""
    jobs: dict[str, Callable[..., int]] = {"plan": plan, "sweep": sweep, "leg": work, "seize": seize, "pass": make_pass}
    jobs["share"] = make_pass_on_share
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    core.set_up_logs()
    if job not in {"pass", "share"}:
        core.set_chosen(pytest.MonkeyPatch(), batch_items=BATCH_ITEMS, rows_per_part=ROWS_PER_PART, small_run_items=0)
    code = 1
    try:
        code = jobs[job](*arguments)
    except core.RunIsActive:
        code = ANOTHER_IS_ACTIVE
    finally:
        os._exit(code)


if __name__ == "__main__":
    do(*sys.argv[1:])
