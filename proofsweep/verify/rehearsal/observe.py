"""What the exchanges of a leg, or of a sample, show of the service, its lane and the link."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from statistics import fmean, median

from proofsweep.model.exchanges import Call
from proofsweep.model.observed import ObservedLink, ObservedService
from proofsweep.verify.rehearsal.observe_lane import observed_lane
from proofsweep.verify.rehearsal.seen_call import SeenCall

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
# Shorter than any upload takes: none is endlessly fast.
_INSTANT_SECONDS = 1e-3


def observed(
    calls: Iterable[SeenCall],
    *,
    origin: str,
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
        measured_at=datetime.fromtimestamp(max(call.ended for call in verified), UTC),
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
    is_clear = len(uploads) >= _LEAST_UPLOADS and shared.is_clear and shared.error <= _AS_WELL * alone.error
    if fmean(sharing) >= _LEAST_SHARING and (is_clear or mean_bytes >= _LARGE_BYTES):
        speed = _carried_together(uploads)
        shared_seconds = fmean(call.sent_bytes * many for call, many in zip(uploads, sharing, strict=True)) / speed
        return ObservedLink(
            fixed_seconds=max(0.0, fmean(seconds) - shared_seconds), of_all=speed, mean_bytes=mean_bytes
        )
    if len(uploads) < _LEAST_UPLOADS or not alone.is_clear:
        return ObservedLink(fixed_seconds=fmean(seconds), mean_bytes=mean_bytes)
    return ObservedLink(fixed_seconds=alone.fixed, of_each=1 / alone.slope, mean_bytes=mean_bytes)


def _sharing(uploads: Sequence[SeenCall]) -> Sequence[float]:
    """Return how many uploads there were on average during each, itself included."""
    moments = sorted([(call.began, 1) for call in uploads] + [(call.ended, -1) for call in uploads])
    many = list(accumulate(change for _, change in moments))
    spans = [many[number] * (moments[number + 1][0] - moments[number][0]) for number in range(len(moments) - 1)]
    areas = dict(zip((at for at, _ in moments), accumulate([0.0, *spans]), strict=True))
    return [(areas[call.ended] - areas[call.began]) / call.seconds if call.seconds > 0 else 1.0 for call in uploads]


def _carried_together(uploads: Sequence[SeenCall]) -> float:
    """Return the bytes per second while two or more uploads shared the link; each sends evenly as long as it lasts."""
    speeds = [(call.began, 1, call.sent_bytes / max(_INSTANT_SECONDS, call.seconds)) for call in uploads]
    speeds += [
        (call.began + max(_INSTANT_SECONDS, call.seconds), -1, -speed)
        for call, (_, _, speed) in zip(uploads, speeds, strict=True)
    ]
    speeds.sort()
    carried = shared_seconds = speed = 0.0
    many = 0
    for (at, change, by), (until, _, _) in pairwise(speeds):
        many, speed = many + change, speed + by
        if many > 1:
            carried += speed * (until - at)
            shared_seconds += until - at
    return carried / shared_seconds


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
