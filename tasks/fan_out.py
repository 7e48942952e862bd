"""Map the work over what remains of a run."""

from collections.abc import Sequence

from prefect import unmapped
from prefect.futures import wait
from prefect.task_runners import ThreadPoolTaskRunner

from proofsweep.bootstrap.legs import LegHandle
from proofsweep.domain.runs import Slice
from tasks.upload_then_verify import upload_then_verify

SHARDS_AT_ONCE = 2
"""One shard's tail overlaps the next one's head; more would only hold more rows in memory."""


ITEMS_AT_ONCE = 16
"""Tasks of a small run are single items, and mostly wait."""


def fan_out(place: LegHandle, pieces: Sequence[Slice], *, is_small: bool) -> None:
    """Run one task for each slice, and wait for all; what a task raised is raised here."""
    at_once = ITEMS_AT_ONCE if is_small else SHARDS_AT_ONCE
    with ThreadPoolTaskRunner(max_workers=at_once) as runner:  # type: ignore[var-annotated]  # it may run any task
        futures = runner.map(upload_then_verify, {"place": unmapped(place), "piece": list(pieces)})
        wait(list(futures))
    for future in futures:
        future.result()
