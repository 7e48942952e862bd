"""Send a few items of a catalog and measure what they take; their answers are counted and not kept."""

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from datetime import datetime

from proofsweep.errors import CallFailed, ResultsError
from proofsweep.model.exchanges import Call, Exchange
from proofsweep.model.forecast import Measurement
from proofsweep.model.items import WorkItem
from proofsweep.model.outcomes import Finished
from proofsweep.partner.partner import Partner
from proofsweep.partner.stop import StopSwitch
from proofsweep.store.plans_and_parts import Results
from proofsweep.verify.item.verify_item import VerifyContext, verify_item
from proofsweep.verify.plan.history import remember_sample

_QUOTA_PROBES = 2
"""Keyed calls beside those of the items: GET /partner/usage before and after."""


def spread(items: Iterable[WorkItem], eligible: int, count: int) -> Iterator[WorkItem]:
    """Pick `count` of the `eligible` items among all, evenly over the catalog."""
    sendable = (item for item in items if item.ineligible is None)
    for number, item in enumerate(sendable):
        if number * count // eligible != (number - 1) * count // eligible:
            yield item


def measure_sample(
    items: Sequence[WorkItem], context: VerifyContext, workers: Executor, headroom_before: int | None
) -> Measurement | None:
    """Verify items as a run would, and measure it; None if none of them got an answer.

    Args:
        items: to be sent.
        context: what they are verified with.
        workers: the threads for it.
        headroom_before: keyed calls that were left before; None where the service does not say.
    """
    began, cpu_then = time.perf_counter(), time.process_time()
    ends = list(workers.map(lambda item: verify_item(item, context), items))
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_then
    rows = sum(isinstance(end, Finished) and bool(end.exchanges) for end in ends)
    headroom = _headroom(context.partner)
    if not rows:
        return None
    exchanges = [exchange for end in ends for exchange in end.exchanges]
    return Measurement(
        rows=rows,
        seconds=seconds,
        calls=sum(exchange.is_charged for exchange in exchanges) + _QUOTA_PROBES,
        sent_bytes=sum(exchange.bytes_sent or 0 for exchange in exchanges),
        throttled=sum(exchange.is_throttled for exchange in exchanges),
        cpu_seconds=cpu_seconds,
        upload_share=_upload_share(exchanges),
        quota_spent=_spent(headroom_before, headroom),
    )


def remembered(
    results: Results, environment: str, measured: Measurement | None, stop: StopSwitch, now: datetime
) -> Measurement | None:
    """Return a sample that was just measured, and remember it if it was answered; RunMustStop if it was stopped."""
    stop.check()
    if measured is not None:
        with suppress(ResultsError):  # a person who plans may have no right to write
            remember_sample(results.store, environment, measured, now)
    return measured


def _headroom(partner: Partner) -> int | None:
    try:
        return partner.with_attempts(1).usage(days=1)[1].rate_remaining
    except CallFailed:
        return None


def _spent(before: int | None, after: int | None) -> int | None:
    """Return by how much the headroom fell; None where it is not known, or rose."""
    return before - after if before is not None and after is not None and before >= after else None


def _upload_share(exchanges: Sequence[Exchange]) -> float | None:
    total = sum(exchange.elapsed_ms for exchange in exchanges)
    return sum(each.elapsed_ms for each in exchanges if each.call is Call.SLOT) / total if total else None
