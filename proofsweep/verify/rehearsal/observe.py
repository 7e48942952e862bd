"""What the exchanges of a leg, or of a sample, show of the service, its lane and the link."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from itertools import accumulate
from statistics import fmean, median

from proofsweep.model.exchanges import Call
from proofsweep.model.observed import ObservedLane, ObservedLink, ObservedService
from proofsweep.partner.pacing.concurrency_limit import ConcurrencyLimit

# Quantiles that are kept of each time: 1 % of the answers lie between two. Fewer: slow answers are lost.
_QUANTILES = 101
# The least part of a call that is spent on the way, where no refusal shows it: a quarter each way of the fastest one.
_TRIP_SHARE = 0.25
# Fewest uploads that show a link; chosen: as many as a run begins with at once.
_LEAST_UPLOADS = 8
# The share of the mean upload time that must grow with the size, and the share of the differences that it explains:
# else the files are too small to show the link.
_LEAST_SIZE_SHARE = 0.2
_LEAST_EXPLAINED = 0.3
# The link was full if so many uploads shared it on average, and sharing explains the times as well as anything.
_LEAST_SHARING = 1.5
_AS_WELL = 1.1
# Files of so many bytes show the link even if all are alike: no form post of them is bound by anything else.
_LARGE_BYTES = 1_000_000
# The stretch over which the fastest traffic is counted. Chosen: longer than a burst of calls, shorter than a sample.
_STRETCH_SECONDS = 5.0
# A burst is read off the calls before the first 429 if that came so soon; later, the error of the rate hides it.
_BURST_SHOWN_SECONDS = 30.0
# The bounds of a burst that is believed, in seconds of the rate: the error of the rate may show less, or more.
_LEAST_BURST = 0.25
_MOST_BURST = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenCall:
    """One exchange for an item: `began` is in seconds of any clock, `status` None if there was no usable answer."""

    call: Call
    began: float
    seconds: float
    status: int | None
    sent_bytes: int = 0
    retry_after_seconds: float | None = None

    @property
    def ended(self) -> float:
        """When the answer was read."""
        return self.began + self.seconds

    @property
    def is_success(self) -> bool:
        """Whether it was answered with a 2xx."""
        return self.status is not None and self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def is_refused(self) -> bool:
        """Whether the lane refused it."""
        return self.status == HTTPStatus.TOO_MANY_REQUESTS


def observed(
    calls: Iterable[SeenCall],
    *,
    origin: str,
    measured_at: datetime,
    learned_rate: float | None = None,
    cpu_seconds: float = 0.0,
    overhead_seconds: float = 0.0,
) -> ObservedService | None:
    """Return what the calls for items show; None if none of them was verified.

    `learned_rate` is what the pacer learned of the lane meanwhile, `cpu_seconds` is for all of the calls together.
    """
    ordered = sorted(calls, key=lambda call: call.began)
    uploads = [call for call in ordered if call.call is Call.SLOT and call.is_success]
    keyed = [call for call in ordered if call.call in {Call.UPLOADS, Call.VERIFY}]
    slots, verified = (
        [call for call in keyed if call.call is kind and call.is_success] for kind in (Call.UPLOADS, Call.VERIFY)
    )
    if not slots or not verified:
        return None
    answered = [call for call in keyed if not call.is_refused]
    return ObservedService(
        origin=origin,
        rows=len(verified),
        measured_at=measured_at,
        slot_seconds=_quantiles([call.seconds for call in slots]),
        verify_seconds=_quantiles([call.seconds for call in verified]),
        trip_seconds=_trip_seconds(keyed),
        failing=sum(not call.is_success for call in answered) / len(answered),
        cpu_seconds=cpu_seconds / len(verified),
        overhead_seconds=overhead_seconds,
        lane=observed_lane(keyed, learned_rate),
        link=observed_link(uploads),
    )


def _quantiles(values: Sequence[float]) -> Sequence[float]:
    ordered = sorted(values)
    if len(ordered) <= _QUANTILES:
        return ordered
    return [ordered[number * (len(ordered) - 1) // (_QUANTILES - 1)] for number in range(_QUANTILES)]


def _trip_seconds(keyed: Sequence[SeenCall]) -> float:
    refused = [call.seconds for call in keyed if call.is_refused]
    fastest = min(call.seconds for call in keyed if call.is_success)
    return min(median(refused) / 2, fastest / 2) if refused else _TRIP_SHARE * fastest


def observed_lane(keyed: Sequence[SeenCall], learned_rate: float | None) -> ObservedLane:
    """Return what keyed calls, in the order in which they began, show of the lane."""
    let_in = [call.began for call in keyed if not call.is_refused]
    refusals = [call for call in keyed if call.is_refused]
    most = _most_at_once(keyed)
    rate = learned_rate if refusals and most is None else None
    burst = 1.0
    if rate is not None:
        until = refusals[0].began - keyed[0].began
        shown = sum(began < refusals[0].began for began in let_in) - rate * until
        likely = min(max(_LEAST_BURST * rate, shown), _MOST_BURST * rate) if until < _BURST_SHOWN_SECONDS else rate
        burst = max(1.0, likely)
    waits = [call.retry_after_seconds for call in refusals if call.retry_after_seconds is not None]
    return ObservedLane(
        rate=rate,
        burst=burst,
        most_at_once=most,
        fastest=_fastest(let_in),
        least_wait_seconds=min(waits, default=1.0),
    )


def _most_at_once(keyed: Sequence[SeenCall]) -> int | None:
    """Let the pacer's own detector look at the calls, as it did when they were made."""
    limit, in_flight = ConcurrencyLimit(), 0
    moments = [(call.began, 1, call) for call in keyed] + [(call.ended, 0, call) for call in keyed]
    numbers: dict[int, int] = {}
    for now, is_begin, call in sorted(moments, key=lambda moment: moment[:2]):
        if is_begin:
            in_flight += 1
            numbers[id(call)] = in_flight
            continue
        in_flight -= 1
        if call.is_refused:
            limit.was_refused(numbers[id(call)], now)
        else:
            limit.was_admitted(numbers[id(call)])
    return None if limit.most == math.inf else int(limit.most)


def _fastest(began: Sequence[float]) -> float:
    """Return the most calls per second over a stretch."""
    if not began or began[-1] - began[0] <= _STRETCH_SECONDS:
        return len(began) / max(1.0, began[-1] - began[0]) if began else 0.0
    most = first = 0
    for number, at in enumerate(began):
        while at - began[first] > _STRETCH_SECONDS:
            first += 1
        most = max(most, number - first + 1)
    return most / _STRETCH_SECONDS


def observed_link(uploads: Sequence[SeenCall]) -> ObservedLink:
    """Return what uploads, in the order in which they began, show of the link.

    An upload takes a fixed time, and a time for its bytes. Where the link is full, the latter grows with the number of
    uploads that share it; else it does not. The explanation that fits better counts.
    """
    if not uploads:
        return ObservedLink()
    seconds = [call.seconds for call in uploads]
    mean_bytes = fmean(call.sent_bytes for call in uploads)
    sharing = _sharing(uploads)
    alone = _fit([float(call.sent_bytes) for call in uploads], seconds)
    shared = _fit([call.sent_bytes * many for call, many in zip(uploads, sharing, strict=True)], seconds)
    is_shared = fmean(sharing) >= _LEAST_SHARING
    if len(uploads) < _LEAST_UPLOADS or not (alone.is_clear or shared.is_clear):
        if is_shared and mean_bytes >= _LARGE_BYTES:
            return ObservedLink(of_all=mean_bytes * fmean(sharing) / fmean(seconds), mean_bytes=mean_bytes)
        return ObservedLink(fixed_seconds=fmean(seconds), mean_bytes=mean_bytes)
    if is_shared and shared.is_clear and shared.error <= _AS_WELL * alone.error:
        return ObservedLink(fixed_seconds=shared.fixed, of_all=1 / shared.slope, mean_bytes=mean_bytes)
    return ObservedLink(fixed_seconds=alone.fixed, of_each=1 / alone.slope, mean_bytes=mean_bytes)


def _sharing(uploads: Sequence[SeenCall]) -> Sequence[float]:
    """Return how many uploads there were on average during each, itself included."""
    moments = sorted([(call.began, 1) for call in uploads] + [(call.ended, -1) for call in uploads])
    many = list(accumulate(change for _, change in moments))
    spans = [many[number] * (moments[number + 1][0] - moments[number][0]) for number in range(len(moments) - 1)]
    areas = dict(zip((at for at, _ in moments), accumulate([0.0, *spans]), strict=True))
    return [(areas[call.ended] - areas[call.began]) / call.seconds if call.seconds > 0 else 1.0 for call in uploads]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A straight line through some points; `error` is the sum of the squared differences."""

    fixed: float
    slope: float
    error: float
    is_clear: bool


def _fit(sizes: Sequence[float], seconds: Sequence[float]) -> _Line:
    """Fit a line by least squares that does not begin below zero."""
    mean_size, mean_seconds = fmean(sizes), fmean(seconds)
    spread = sum((size - mean_size) ** 2 for size in sizes)
    slope = 0.0
    if spread:
        slope = (
            sum((size - mean_size) * (took - mean_seconds) for size, took in zip(sizes, seconds, strict=True)) / spread
        )
    if not spread or mean_seconds < slope * mean_size:
        squares = sum(size * size for size in sizes)
        slope = sum(size * took for size, took in zip(sizes, seconds, strict=True)) / squares if squares else 0.0
    fixed = max(0.0, mean_seconds - slope * mean_size)
    error = sum((took - fixed - slope * size) ** 2 for size, took in zip(sizes, seconds, strict=True))
    whole = sum((took - mean_seconds) ** 2 for took in seconds)
    explains = error < (1 - _LEAST_EXPLAINED) * whole
    grows = slope > 0 and slope * mean_size >= _LEAST_SIZE_SHARE * mean_seconds
    return _Line(fixed=fixed, slope=slope, error=error, is_clear=grows and explains)
