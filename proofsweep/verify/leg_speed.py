"""What bounds the speed of a leg, in closed form, by what earlier legs showed. Pure (contract, Limits)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from proofsweep.domain.limits import CALLS_PER_ITEM

PROBES_OF_A_LEG = 2  # of the quota, at its start and at its end
MIN_ROWS = 20
"""Fewest rows that give a pace and a cost: the probes are then 5 % of the calls."""
_FULL = 0.8  # the share of a limit from which it bounds a leg
_LEAST_SHARING = 1.5  # uploads at once, from which a link may be full
_DOUBLING_SECONDS = 1.5  # in which the pacer doubles its pace until the first 429
_START_SECONDS = 5.0  # from the plan to the first call, where no leg was measured
_AROUND_SHARE = 1.6  # the program's own time, also before the plan and after the leg, by that one. Measured


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
class Measurement:
    rows: int
    seconds: float  # from its begin to its end
    calls: int  # keyed calls, probes of the quota included
    sent_bytes: int = 0
    throttled: int = 0  # answers with status 429
    # calls per second that the service lets through, as this leg learned; None if it was never refused.
    rate: float | None = None
    let_through: float | None = None  # calls per second between two refusals, at most; None if there were none
    cpu_seconds: float | None = None  # of this program; None if not recorded
    call_seconds: float | None = None  # time of all calls of a row together; None if not measured
    upload_seconds: float | None = None  # of these, the time of its form posts
    start_seconds: float | None = None  # from the plan to the leg's begin; None of a run that was resumed
    quota_spent: int | None = None  # by how much the headroom fell; None if it is not known or rose

    @property
    def calls_let_in(self) -> int:
        return max(0, self.calls - self.throttled - PROBES_OF_A_LEG)

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
class Means:
    rate: float | None = None  # calls per second that this key is known to get; None if nobody has learned it
    first_rate: float = 6.0  # calls per second with which a search for it begins
    workers: int = 128
    ask_seconds: float = 300.0  # how often the quota is read


@dataclass(frozen=True, slots=True, kw_only=True)
class LegSpeed:
    """What bounds the speed of a leg."""

    limits: dict[Bind, float]  # files per second that each thing lets through, as far as it is known
    calls_of_row: float = float(CALLS_PER_ITEM)  # calls that a file takes, retries included
    # calls per second with which the search for the rate begins; None if the rate is known.
    first_rate: float | None = None
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
        fitting, too_many = 0, rows + 1
        while too_many - fitting > 1:
            middle = (fitting + too_many) // 2
            fitting, too_many = (middle, too_many) if self.seconds_for(middle) <= seconds else (fitting, middle)
        return fitting

    def doubled(self) -> "LegSpeed":
        binds = self.binds
        return replace(self, limits={**self.limits, binds: 2 * self.limits[binds]} if self.limits else {})

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
    legs = [one for one in history if one.rows >= MIN_ROWS] or list(history[:1])
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
