"""Map the work over what remains of a run."""

from collections.abc import Sequence

from prefect import unmapped
from prefect.futures import wait
from prefect.task_runners import ThreadPoolTaskRunner

from proofsweep.bootstrap.legs import LegHandle
from proofsweep.domain.runs import Slice
from tasks.upload_then_verify import upload_then_verify

# Bounds the shards in memory. Chosen: with 1 the workers idle at each shard's end, with 4 only the memory grows.
SHARDS_AT_ONCE = 2

# Bounds the tasks of a small run, which mostly wait. Chosen: 8 may leave workers idle, 32 only adds threads.
ITEMS_AT_ONCE = 16


def fan_out(leg: LegHandle, pieces: Sequence[Slice], *, is_small: bool) -> None:
    """Run one task for each slice and wait for all; raise here what a task raised."""
    at_once = ITEMS_AT_ONCE if is_small else SHARDS_AT_ONCE
    with ThreadPoolTaskRunner(max_workers=at_once) as runner:  # type: ignore[var-annotated]  # it may run any task
        futures = runner.map(upload_then_verify, {"leg": unmapped(leg), "piece": list(pieces)})
        wait(list(futures))
    for future in futures:
        future.result()
