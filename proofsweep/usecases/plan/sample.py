"""Send a few items of a catalog and see what they take; their answers are counted and not kept."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor

from proofsweep.domain.budget.forecast import Measured
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import Deferred, Finished

Verify = Callable[[WorkItem], Finished | Deferred]


def spread(items: Iterable[WorkItem], eligible: int, count: int) -> Iterator[WorkItem]:
    """Pick `count` of the `eligible` items among all, evenly over the catalog."""
    sendable = (item for item in items if item.ineligible is None)
    for number, item in enumerate(sendable):
        if number * count // eligible != (number - 1) * count // eligible:
            yield item


def measure_sample(
    items: Sequence[WorkItem],
    verify: Verify,
    workers: Executor,
    ask_headroom: Callable[[], int | None],
    headroom_before: int | None,
) -> Measured | None:
    """Verify items as a run would and measure it; None if none of them got an answer.

    Args:
        items: to be sent.
        verify: takes one item through the core flow.
        workers: the threads for it.
        ask_headroom: asks the service how many calls are left; None where it does not tell.
        headroom_before: the same, from before.
    """
    began, cpu_then = time.perf_counter(), time.process_time()
    ends = list(workers.map(verify, items))
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_then
    exchanges = [exchange for end in ends for exchange in end.exchanges]
    rows = sum(isinstance(end, Finished) and bool(end.exchanges) for end in ends)
    after = ask_headroom()
    fell = None if headroom_before is None or after is None else headroom_before - after
    return (
        None
        if not rows
        else Measured(
            rows=rows,
            seconds=seconds,
            calls=sum(exchange.is_charged for exchange in exchanges) + 2,  # and the looks before and after
            sent_bytes=sum(exchange.bytes_sent or 0 for exchange in exchanges),
            throttled=sum(exchange.is_throttled for exchange in exchanges),
            cpu_seconds=cpu_seconds,
            upload_share=_upload_share(exchanges),
            quota_spent=fell if fell is not None and fell >= 0 else None,
        )
    )


def _upload_share(exchanges: Sequence[Exchange]) -> float | None:
    total = sum(exchange.elapsed_ms for exchange in exchanges)
    return sum(each.elapsed_ms for each in exchanges if each.call is Call.SLOT) / total if total else None
