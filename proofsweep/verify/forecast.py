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
_DOUBLING_SECONDS = 1.5  # in which the pacer doubles its pace until the first 429
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
class Need:
    """What must be sent: eligible items, and the bytes of their audio."""

    eligible: int
    audio_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a leg may spend, and what it works with."""

    headroom: int | None = None  # calls left in the quota until `reset`; None if not known
    reset: datetime | None = None
    bounds: Bounds = field(default_factory=Bounds)
    rate: float | None = None  # calls per second that this key is known to get; None if nobody has learned it
    first_rate: float = 6.0  # calls per second with which a search for it begins
    workers: int = 128
    ask_seconds: float = 300.0  # how often the quota is read


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
    quota_spent: int | None = None  # by how much the headroom fell; None if it is not known or rose

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
    cost_of_row: float | None  # what a row took from the headroom in earlier legs; None until measured on enough rows
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


def forecast(need: Need, means: Means, history: Sequence[Measurement], now: datetime) -> Forecast:
    """Return what the need will take; `history` is of earlier legs, the newest first."""
    speed = speed_of(need.audio_bytes / max(1, need.eligible), history, means)
    cost, calls = cost_of_row(history), calls_of_row(history)
    short = _rows_short(need, means, cost or CALLS_PER_ITEM)
    left = {Bind.QUOTA: short or 0, Bind.CALLS: 0, Bind.WINDOW: 0}
    if (most := means.bounds.max_calls) is not None:
        left[Bind.CALLS] = max(0, need.eligible - int(max(0, most - _PROBES_OF_A_LEG) / calls))
    if speed is not None and (closes_at := means.bounds.closes_at) is not None:
        left[Bind.WINDOW] = need.eligible - speed.rows_in((closes_at - now).total_seconds(), need.eligible)
    end = max(left, key=lambda bind: left[bind])
    rows = need.eligible - left[end]
    seconds = speed.seconds_for(rows) if speed else None
    probes = _PROBES_OF_A_LEG + int((seconds or 0.0) // means.ask_seconds)
    measured = next((one.rows for one in history if one.rows >= _MIN_ROWS), history[0].rows if history else None)
    return Forecast(
        calls=need.eligible * CALLS_PER_ITEM,
        calls_expected=math.ceil(need.eligible * calls) + (probes if need.eligible else 0),
        cost_of_row=cost,
        headroom=means.headroom,
        reserve=means.bounds.reserve,
        quota_reset=means.reset if means.reset and means.reset > now else None,
        rows_short=short,
        rows_left=left[end],
        seconds=seconds,
        range_seconds=None if speed else _range_for(rows, means),
        ends_at=None if seconds is None else now + timedelta(seconds=seconds),
        measured_rows=measured,
        rate=None if speed is None else speed.rate,
        binds=end if left[end] else speed.binds if speed else None,
        pace_binds=speed.binds if speed else None,
        seconds_if_doubled=speed.doubled().seconds_for(rows) if speed and speed.limits else None,
    )


def calls_of_row(history: Sequence[Measurement]) -> float:
    """Return how many calls a row takes, retries included; two if nothing better is known."""
    rows, calls = sum(one.rows for one in history), sum(one.calls - _PROBES_OF_A_LEG for one in history)
    return max(float(CALLS_PER_ITEM), calls / rows) if rows >= _MIN_ROWS else float(CALLS_PER_ITEM)


def cost_of_row(history: Sequence[Measurement]) -> float | None:
    """Return by how much the headroom fell for each row; the contract does not state which calls are charged."""
    known = [(one.rows, one.quota_spent) for one in history if one.quota_spent is not None]
    rows = sum(rows for rows, _ in known)
    return sum(spent for _, spent in known) / rows if rows >= _MIN_ROWS else None


def _rows_short(need: Need, means: Means, cost: float) -> int | None:
    if means.headroom is None:
        return None
    free = max(0, means.headroom - means.bounds.reserve - 1)  # the last probe is a call too
    return max(0, need.eligible - int(free / cost))


def _range_for(rows: int, means: Means) -> tuple[float, float]:
    limits = ({Bind.LANE: rate / CALLS_PER_ITEM} for rate in _UNKNOWN_RATES)
    shortest, longest = (LegSpeed(limits=limit, first_rate=means.first_rate).seconds_for(rows) for limit in limits)
    return shortest, longest


@dataclass(frozen=True, slots=True, kw_only=True)
class LegSpeed:
    """What bounds the speed of a leg."""

    limits: dict[Bind, float]  # files per second that each thing lets through, as far as it is known
    calls_of_row: float = float(CALLS_PER_ITEM)  # calls that a file takes, retries included
    first_rate: float | None = None  # calls per second with which the search for the rate begins; None if it is known
    around_seconds: float = _START_SECONDS * _AROUND_SHARE  # what the program takes besides its files

    @property
    def binds(self) -> Bind:
        """The lowest limit; the service's answers while none is known."""
        return min(self.limits, key=lambda bind: self.limits[bind], default=Bind.ANSWERS)

    @property
    def rate(self) -> float | None:
        """The calls per second that the lane lets through; None if it was never reached."""
        lane = self.limits.get(Bind.LANE)
        return None if lane is None else lane * self.calls_of_row

    def seconds_for(self, rows: int) -> float:
        if not rows:
            return 0.0
        most = self.limits.get(self.binds, math.inf)
        return self.around_seconds + (rows / most if self.first_rate is None else self._searching(rows, most))

    def rows_in(self, seconds: float, rows: int) -> int:
        """Return how many of these rows fit into a time."""
        fitting, too_many = 0, rows + 1
        while too_many - fitting > 1:
            middle = (fitting + too_many) // 2
            fitting, too_many = (middle, too_many) if self.seconds_for(middle) <= seconds else (fitting, middle)
        return fitting

    def doubled(self) -> "LegSpeed":
        binds = self.binds
        return replace(self, limits={**self.limits, binds: 2 * self.limits[binds]})

    def _searching(self, rows: int, most: float) -> float:
        first = min(most, (self.first_rate or math.inf) / self.calls_of_row)
        growth = math.log(2) / _DOUBLING_SECONDS
        rows_until_most = (most - first) / growth
        if rows <= rows_until_most:
            return math.log1p(rows * growth / first) / growth
        return math.log(most / first) / growth + (rows - rows_until_most) / most


def speed_of(mean_bytes: float, history: Sequence[Measurement], means: Means) -> LegSpeed | None:
    """Return what bounds the speed of the next leg; None if no leg was measured and no rate is known."""
    if not history and means.rate is None:
        return None
    legs = [one for one in history if one.rows >= _MIN_ROWS] or list(history[:1])
    rows = sum(one.rows for one in legs)
    calls = max(float(CALLS_PER_ITEM), sum(one.calls_let_in for one in legs) / rows) if rows else float(CALLS_PER_ITEM)
    pace = _pace_of(legs, means.rate)
    limits = {} if pace is None else {Bind.LANE: pace / calls}
    for one in reversed(legs):  # the newest counts
        limits |= _limits_by(one, mean_bytes, means)
    start = min((one.start_seconds for one in history if one.start_seconds is not None), default=_START_SECONDS)
    return LegSpeed(
        limits={bind: limit for bind, limit in limits.items() if limit > 0},
        calls_of_row=calls,
        first_rate=means.first_rate if pace is None else None,
        around_seconds=start * _AROUND_SHARE,
    )


def _pace_of(legs: Sequence[Measurement], rate: float | None) -> float | None:
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
