"""A program for tests: works on a run without an orchestrator, and may end outright at one of its writes.

python bare_runner.py plan CATALOG                 prints the run's id
python bare_runner.py leg RUN_ID [WRITE WHEN]      WHEN is before, half or after; writes are counted from 1; a bucket
                                                   knows no half
python bare_runner.py seize RUN_ID                 the same as a process to which every other one seems dead

A leg exits with 0 when its run is complete, with 3 while rows remain, with 9 when another one is at work on it; 1 is an
error that nobody foresaw.
"""

import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from proofsweep.bootstrap.legs import held_leg
from proofsweep.bootstrap.runs import plan_catalog, results_for
from proofsweep.domain import runs
from proofsweep.errors import RunIsActive, RunMustStop
from proofsweep.logs import set_up_logs
from proofsweep.reporting.describe_run import describe_run
from proofsweep.settings import load_settings
from proofsweep.storage.results import folder_store
from proofsweep.storage.results.bucket_store import BucketStore
from proofsweep.usecases.leg.work import verify_slice

SHARDS_AT_ONCE = 2
SHARD_ITEMS = 20
"""So few that small runs too have several shards, each published as soon as it is done."""
ROWS_REMAIN = 3
ANOTHER_IS_ACTIVE = 9


@dataclass
class Reaper:
    """Ends this process at one of its writes, as a power switch would."""

    write: int
    when: str
    numbers: Callable[[], int]

    def attend(self, act: Callable[..., None]) -> Callable[..., None]:
        """Give a write that may be the last."""

        def attended(store: object, name: str, *content: bytes) -> None:
            is_last = self.numbers() == self.write
            if is_last and self.when == "before":
                die()
            if is_last and self.when == "half":
                folder_store._write_durably = write_half  # the next file is this one's
            act(store, name, *content)
            if is_last:
                die()

        return attended


def die() -> None:
    """Leave no time for anything."""
    os.kill(os.getpid(), signal.SIGKILL)


def write_half(path: Path, content: bytes) -> None:
    """Begin a file, and never end it."""
    path.write_bytes(content[: len(content) // 2])
    die()


def plan(catalog: str) -> int:
    """Plan a run."""
    plan_catalog(load_settings(), catalog)
    return 0


def work(run_id: str, write: str = "0", when: str = "never") -> int:
    """Work on one leg, perhaps until a write."""
    numbers = count(1)
    reaper = Reaper(int(write), when, lambda: next(numbers))
    for kind in (folder_store.FolderStore, BucketStore):
        kind.create = reaper.attend(kind.create)  # type: ignore[method-assign]
        kind.replace = reaper.attend(kind.replace)  # type: ignore[method-assign]
        kind.delete = reaper.attend(kind.delete)  # type: ignore[method-assign]
    leg = held_leg(run_id, None, None, flow_run_id=None, read_block=None)
    try:
        with suppress(RunMustStop), leg as (_, desk), ThreadPoolExecutor(SHARDS_AT_ONCE) as pool:
            list(pool.map(lambda piece: verify_slice(desk, piece), desk.remaining.slices()))
    except RunIsActive:
        return ANOTHER_IS_ACTIVE
    return ROWS_REMAIN if describe_run(results_for(load_settings()), run_id).remaining else 0


def seize(run_id: str) -> int:
    """Work on one leg, whoever else does."""
    runs.STALE_SECONDS = -1
    return work(run_id)


def serve() -> None:
    """Do each job that stdin names in a process of its own, forked from this one, which has loaded everything."""
    set_up_logs()
    runs.MIN_SHARD_ITEMS, runs.SMALL_RUN_ITEMS = SHARD_ITEMS, 0
    jobs = {"plan": plan, "leg": work, "seize": seize}
    for line in sys.stdin:
        job, *arguments = line.split()
        child = os.fork()
        if child == 0:
            os._exit(jobs[job](*arguments))
        print(child, flush=True)  # noqa: T201 - for the test that asked
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)  # noqa: T201 - as above


if __name__ == "__main__":
    serve()
