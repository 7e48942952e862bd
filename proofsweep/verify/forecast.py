"""Predict what a run will cost and when it will end, in closed form, by what earlier legs showed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from proofsweep.domain.headers import CALLS_PER_ITEM
from proofsweep.domain.runs import Bounds

_PROBES_OF_A_LEG = 2  # of the quota, at its start and at its end
_MIN_ROWS = 20  # fewest rows that give a pace and a cost: the probes are then 5 % of the calls
_FULL = 0.8  # the share of a limit from which it bounds a leg
_LEAST_SHARING = 1.5  # uploads at once, from which a link may be full
_START_SECONDS = 5.0  # from the plan to the first call, where no leg was measured
_AROUND_SHARE = 1.6  # the program's own time, also before the plan and after the leg, by that one. Measured
_UNKNOWN_RATES = (50.0, 5.0)  # calls a second between which a lane is looked for that nobody has measured


class Bind(StrEnum):
    """What limits the speed of a leg, or ends it while rows remain."""

    LANE = "lane"
    UPLINK = "uplink"
    CPU = "cpu"
    ANSWERS = "answers"
    THREADS = "threads"
    QUOTA = "quota"
    CALLS = "calls"
    WINDOW = "window"


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a leg may spend, and what it works with."""

    headroom: int | None = None  # calls left in the quota until `reset`; None if not known
    reset: datetime | None = None
    bounds: Bounds = field(default_factory=Bounds)
    rate: float | None = None  # calls per second that this key is known to get; None if nobody has learned it
    workers: int = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What an earlier leg took."""

    rows: int
    seconds: float  # from its begin to its end
    calls: int  # keyed calls, probes of the quota included
    sent_bytes: int = 0
    throttled: int = 0  # answers with status 429
    rate: float | None = None  # calls per second of the lane, as this leg learned; None if it was never refused
    let_through: float | None = None  # calls per second between two refusals, at most; None if there were none
    cpu_seconds: float | None = None  # of this program; None if not recorded
    call_seconds: float | None = None  # time of all calls of a row together; None if not measured
    upload_seconds: float | None = None  # of these, the time of its form posts
    start_seconds: float | None = None  # from the plan to the leg's begin; None of a run that was resumed

    @property
    def calls_let_in(self) -> int:
        return max(0, self.calls - self.throttled - _PROBES_OF_A_LEG)

    def shows_uplink(self, workers: int) -> bool:
        """Whether uploads took most of the time, several at once, and neither the lane nor the workers were full."""
        if not self.call_seconds or not self.upload_seconds:
            return False
        is_lane_full = (
            self.throttled > 0 if self.rate is None else self.calls_let_in >= _FULL * self.rate * self.seconds
        )
        are_workers_full = self.call_seconds * self.rows >= _FULL * workers * self.seconds
        are_most = 2 * self.upload_seconds >= self.call_seconds
        sharing = self.upload_seconds * self.rows / self.seconds
        return are_most and sharing >= _LEAST_SHARING and not is_lane_full and not are_workers_full


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    calls: int  # keyed calls without any retry
    calls_expected: int  # keyed calls with as many retries as in earlier legs, and with probes of the quota
    headroom: int | None
    reserve: int
    quota_reset: datetime | None
    rows_short: int | None  # rows that the quota does not cover; None if the quota is not known
    rows_left: int  # rows that the leg leaves, because of quota, calls or time, as far as these are known
    seconds: float | None  # of the leg that begins now, the program's start included; None until a leg was measured
    range_seconds: tuple[float, float] | None  # the shortest and the longest time, where no leg was measured
    ends_at: datetime | None
    measured_rows: int | None  # on how many rows the pace was measured
    rate: float | None  # calls per second that the key is known to get; None if its limit was never reached
    binds: Bind | None  # what ends the leg while rows remain, or limits its speed
    pace_binds: Bind | None
    seconds_if_doubled: float | None  # of the leg with twice of what limits its speed; None if nothing is known to


def forecast(eligible: int, audio_bytes: int, means: Means, history: Sequence[Measurement], now: datetime) -> Forecast:
    """Return what so many items with so much audio will take; `history` is of earlier legs, the newest first."""
    legs = [one for one in history if one.rows >= _MIN_ROWS] or list(history[:1])
    speed = speed_of(audio_bytes / max(1, eligible), legs, means) if legs or means.rate is not None else None
    calls = calls_of_row(history)
    short = None
    if means.headroom is not None:
        free = max(0, means.headroom - means.bounds.reserve - 1)  # the last probe is a call too
        short = max(0, eligible - int(free / CALLS_PER_ITEM))
    left = {Bind.QUOTA: short or 0, Bind.CALLS: 0, Bind.WINDOW: 0}
    if (most := means.bounds.max_calls) is not None:
        left[Bind.CALLS] = max(0, eligible - int(max(0, most - _PROBES_OF_A_LEG) / calls))
    if speed is not None and (closes_at := means.bounds.closes_at) is not None:
        left[Bind.WINDOW] = max(0, eligible - speed.rows_in((closes_at - now).total_seconds()))
    end = max(left, key=lambda bind: left[bind])
    rows = eligible - left[end]
    seconds = speed.seconds_for(rows) if speed else None
    unknown = [LegSpeed({Bind.LANE: rate / CALLS_PER_ITEM}) for rate in _UNKNOWN_RATES]
    return Forecast(
        calls=eligible * CALLS_PER_ITEM,
        calls_expected=math.ceil(eligible * calls) + (_PROBES_OF_A_LEG if eligible else 0),
        headroom=means.headroom,
        reserve=means.bounds.reserve,
        quota_reset=means.reset if means.reset and means.reset > now else None,
        rows_short=short,
        rows_left=left[end],
        seconds=seconds,
        range_seconds=None if speed else (unknown[0].seconds_for(rows), unknown[1].seconds_for(rows)),
        ends_at=None if seconds is None else now + timedelta(seconds=seconds),
        measured_rows=legs[0].rows if legs else None,
        rate=speed.rate if speed else None,
        binds=end if left[end] else speed.binds if speed else None,
        pace_binds=speed.binds if speed else None,
        seconds_if_doubled=speed.doubled().seconds_for(rows) if speed else None,
    )


def calls_of_row(history: Sequence[Measurement]) -> float:
    """Return how many calls a row takes, retries included; two if nothing better is known."""
    rows, calls = sum(one.rows for one in history), sum(one.calls - _PROBES_OF_A_LEG for one in history)
    return max(float(CALLS_PER_ITEM), calls / rows) if rows >= _MIN_ROWS else float(CALLS_PER_ITEM)


@dataclass(frozen=True, slots=True)
class LegSpeed:
    """What bounds the speed of a leg."""

    limits: dict[Bind, float]  # files per second that each thing lets through, as far as it is known
    rate: float | None = None  # calls per second that the lane lets through; None if it was never reached
    around_seconds: float = _START_SECONDS * _AROUND_SHARE  # what the program takes besides its files

    @property
    def binds(self) -> Bind:
        return min(self.limits, key=lambda bind: self.limits[bind])

    def seconds_for(self, rows: int) -> float:
        return self.around_seconds + rows / self.limits[self.binds] if rows else 0.0

    def rows_in(self, seconds: float) -> int:
        """Return how many rows fit into a time."""
        return int(max(0.0, seconds - self.around_seconds) * self.limits[self.binds])

    def doubled(self) -> "LegSpeed":
        return replace(self, limits={**self.limits, self.binds: 2 * self.limits[self.binds]})


def speed_of(mean_bytes: float, legs: Sequence[Measurement], means: Means) -> LegSpeed:
    """Return what bounds the speed of the next leg; either a leg was measured, or a rate is known."""
    rows = sum(one.rows for one in legs)
    calls = max(float(CALLS_PER_ITEM), sum(one.calls_let_in for one in legs) / max(1, rows))
    rate = _rate_of(legs, means.rate)
    limits = {} if rate is None else {Bind.LANE: rate / calls}
    for one in reversed(legs):  # the newest counts
        limits |= _limits_by(one, mean_bytes, means)
    limits = {bind: limit for bind, limit in limits.items() if limit > 0}
    start = min((one.start_seconds for one in legs if one.start_seconds is not None), default=_START_SECONDS)
    return LegSpeed(limits or {Bind.ANSWERS: legs[0].rows / legs[0].seconds}, rate, start * _AROUND_SHARE)


def _rate_of(legs: Sequence[Measurement], rate: float | None) -> float | None:
    """Return the calls per second that the lane lets through; None if it was never reached.

    A rate that a short leg learned is too high by the lane's burst, and what was seen between refusals is not.
    """
    seen = max((one.let_through for one in legs if one.let_through is not None), default=None)
    if seen is not None:
        return seen if rate is None else min(seen, rate)
    if rate is None and (refused := next((one for one in legs if one.throttled), None)) is not None:
        return refused.calls_let_in / refused.seconds
    return rate


def _limits_by(leg: Measurement, mean_bytes: float, means: Means) -> dict[Bind, float]:
    """Return the limits other than the lane's that a leg shows; that of a thing that was not full is not known."""
    limits: dict[Bind, float] = {}
    if leg.cpu_seconds is not None and leg.cpu_seconds >= _FULL * leg.seconds:
        limits[Bind.CPU] = leg.rows / leg.cpu_seconds
    if leg.call_seconds:
        limits[Bind.THREADS] = means.workers / leg.call_seconds
    if leg.shows_uplink(means.workers) and Bind.CPU not in limits and mean_bytes:
        limits[Bind.UPLINK] = leg.sent_bytes / leg.seconds / mean_bytes
    return limits
