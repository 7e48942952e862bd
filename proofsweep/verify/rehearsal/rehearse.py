"""Rehearse a leg that begins now: when it ends, what limits it, and what more of each thing would change."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from proofsweep.model.forecast import Bind
from proofsweep.model.observed import ObservedLane, ObservedService
from proofsweep.model.rehearsal import Rehearsal, Remedy
from proofsweep.verify.rehearsal.play import Night
from proofsweep.verify.rehearsal.scaled import MOST_PLAYED, Whole, play_whole

# How many times more of each thing is tried. Chosen: a factor that a person may ask a partner or an operator for.
_MORE = 2
# An end that is earlier by a smaller share is no change: two plays of one night differ by up to 2 %.
_LEAST_GAIN = 0.03
# The share of a thing that is used, from which it limits the speed. Chosen: below it, the service's answers do.
_LEAST_USE = 0.6
# Files that are so many times larger than those of the measurement say nothing about the link.
_MUCH_LARGER = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Tonight:
    """A leg to rehearse.

    Attributes:
        night: with the sizes of all items that are due.
        left: how many rows the quota and the limit of calls leave.
        assumed_rate: the lane's calls per second, if a person has given it.
        most_played: the most items that are played.
    """

    night: Night
    left: Mapping[Bind, int]
    now: datetime
    assumed_rate: float | None = None
    most_played: int = MOST_PLAYED

    def whole(self) -> tuple[Whole, float]:
        """Play it as far as its bounds let it; return that, and the seconds from its begin to its end."""
        allowed = len(self.night.sizes) - max(self.left.values(), default=0)
        whole = play_whole(replace(self.night, sizes=self.night.sizes[:allowed]), self.most_played)
        return whole, whole.seconds + self.night.service.overhead_seconds


def rehearse(tonight: Tonight) -> Rehearsal:
    """Play tonight, and play it again with more of each thing that is limited."""
    night = tonight.night
    whole, seconds = tonight.whole()
    pace_binds = _most_used(whole.played.uses)
    left = {**tonight.left, Bind.WINDOW: 0}
    rows_left = len(night.sizes) - whole.rows
    if rows_left > max(tonight.left.values(), default=0):
        left[Bind.WINDOW] = rows_left
    end = max(left, key=lambda bind: left[bind])
    return Rehearsal(
        seconds=seconds,
        ends_at=tonight.now + timedelta(seconds=seconds),
        rows=whole.rows,
        rows_left=rows_left,
        calls=whole.calls,
        refused=whole.refused,
        binds=end if rows_left else pace_binds,
        pace_binds=pace_binds,
        uses=whole.played.uses,
        first_rate=night.queue.pacer.pace,
        is_rate_remembered=night.known_rate is not None,
        remedies=list(_remedies(tonight, seconds, rows_left, end)),
        service=night.service,
        is_lane_assumed=tonight.assumed_rate is not None,
        assumed=list(_assumed(tonight)),
    )


def _most_used(uses: Mapping[Bind, float]) -> Bind:
    most = max(uses, key=lambda bind: uses[bind], default=Bind.ANSWERS)
    return most if uses.get(most, 0.0) >= _LEAST_USE else Bind.ANSWERS


def _remedies(tonight: Tonight, seconds: float, rows_left: int, end: Bind) -> Iterator[Remedy]:
    for bind, amount, other in [*_with_more(tonight), *([_unbounded(tonight, end)] if rows_left else [])]:
        whole, then_seconds = other.whole()
        then_left = len(other.night.sizes) - whole.rows
        is_earlier = then_left == rows_left and then_seconds < seconds * (1 - _LEAST_GAIN)
        yield Remedy(
            bind=bind,
            amount=amount,
            seconds=then_seconds,
            ends_at=tonight.now + timedelta(seconds=then_seconds),
            rows_left=then_left,
            helps=is_earlier or rows_left - then_left > _LEAST_GAIN * max(1, whole.rows),
        )


def _with_more(tonight: Tonight) -> Iterator[tuple[Bind, float, Tonight]]:
    """Yield tonight with more of each thing whose limit is known."""
    night = tonight.night
    lane, link = night.service.lane, night.service.link
    if lane.is_reached:
        wider = _wider(lane)
        known_rate = None if night.known_rate is None else _MORE * night.known_rate
        other = replace(night, service=replace(night.service, lane=wider), known_rate=known_rate)
        yield Bind.LANE, wider.rate or wider.most_at_once or 0.0, replace(tonight, night=other)
    if link.of_all < math.inf:
        faster = replace(link, of_all=_MORE * link.of_all)
        other = replace(night, service=replace(night.service, link=faster))
        yield Bind.UPLINK, faster.of_all, replace(tonight, night=other)
    workers = _MORE * night.workers
    yield Bind.THREADS, workers, replace(tonight, night=replace(night, workers=workers))


def _wider(lane: ObservedLane) -> ObservedLane:
    return replace(
        lane,
        rate=None if lane.rate is None else _MORE * lane.rate,
        burst=_MORE * lane.burst,
        most_at_once=None if lane.most_at_once is None else _MORE * lane.most_at_once,
    )


def _unbounded(tonight: Tonight, end: Bind) -> tuple[Bind, None, Tonight]:
    """Return tonight without the bound that ends it."""
    if end is Bind.WINDOW:
        return end, None, replace(tonight, night=replace(tonight.night, closes_after_seconds=math.inf))
    return end, None, replace(tonight, left={bind: rows for bind, rows in tonight.left.items() if bind is not end})


def _assumed(tonight: Tonight) -> Iterator[str]:
    """Say what is not known of the service, and what was taken instead."""
    service = tonight.night.service
    lane = service.lane
    if tonight.assumed_rate is not None:
        yield f"a lane of {tonight.assumed_rate:g} calls a second, as --rate says"
    elif not lane.is_reached:
        yield (
            f"an endless lane: it was never reached, and {lane.fastest:.3g} calls a second went through at most; "
            "--rate N assumes another one"
        )
    if not service.rows:
        yield "no time for answers and uploads, since none was measured: the end is this or later; --sample N measures"
    else:
        yield from _assumed_of_the_link(service, tonight.night)


def _assumed_of_the_link(service: ObservedService, night: Night) -> Iterator[str]:
    link = service.link
    mean_bytes = sum(night.sizes) / max(1, len(night.sizes))
    if not link.is_known and mean_bytes > _MUCH_LARGER * max(1.0, link.mean_bytes):
        yield (
            f"uploads as short as measured, with files of {link.mean_bytes / 1e6:.3g} MB; these are of "
            f"{mean_bytes / 1e6:.3g} MB: --sample N measures the uplink"
        )
    elif link.of_all == math.inf and link.is_known:
        yield f"an uplink that is never full: each upload had {link.of_each / 1e6:.3g} MB/s, however many there were"
