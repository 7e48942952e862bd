"""Predict what a run will cost and when it will end, before it starts, in closed form. Pure (contract, Limits)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from proofsweep.domain.bounds import Bounds
from proofsweep.domain.limits import CALLS_PER_ITEM
from proofsweep.verify.leg_speed import MIN_ROWS, PROBES_OF_A_LEG, Bind, LegSpeed, Means, Measurement, speed_of

_UNKNOWN_RATES = (50.0, 5.0)  # calls a second between which a lane is looked for that nobody has measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What must be sent: eligible items, and the bytes of their audio."""

    eligible: int
    audio_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """What may be spent: the calls left until `reset`, both None if not known, within the leg's own bounds."""

    headroom: int | None = None
    reset: datetime | None = None
    bounds: Bounds = field(default_factory=Bounds)


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


def forecast(need: Need, quota: Quota, history: Sequence[Measurement], now: datetime, means: Means) -> Forecast:
    """Return what the need will take; `history` is of earlier legs, the newest first."""
    speed = speed_of(need.audio_bytes / max(1, need.eligible), history, means)
    cost = cost_of_row(history)
    left = {
        Bind.QUOTA: _rows_short(need, quota, cost or CALLS_PER_ITEM) or 0,
        Bind.CALLS: _rows_beyond_calls(need, quota.bounds, calls_of_row(history)),
        Bind.WINDOW: _rows_beyond_closing(need, quota.bounds, speed, now) if speed else 0,
    }
    end = max(left, key=lambda bind: left[bind])
    rows = need.eligible - left[end]
    seconds = speed.seconds_for(rows) if speed else None
    probes = PROBES_OF_A_LEG + int((seconds or 0.0) // means.ask_seconds)
    return Forecast(
        calls=need.eligible * CALLS_PER_ITEM,
        calls_expected=math.ceil(need.eligible * calls_of_row(history)) + (probes if need.eligible else 0),
        cost_of_row=cost,
        headroom=quota.headroom,
        reserve=quota.bounds.reserve,
        quota_reset=quota.reset if quota.reset and quota.reset > now else None,
        rows_short=_rows_short(need, quota, cost or CALLS_PER_ITEM),
        rows_left=left[end],
        seconds=seconds,
        range_seconds=None if speed else _range_for(rows, means),
        ends_at=None if seconds is None else now + timedelta(seconds=seconds),
        measured_rows=_measured(history).rows if history else None,
        rate=None if speed is None else speed.rate,
        binds=end if left[end] else speed.binds if speed else None,
        pace_binds=speed.binds if speed else None,
        seconds_if_doubled=speed.doubled().seconds_for(rows) if speed and speed.limits else None,
    )


def calls_of_row(history: Sequence[Measurement]) -> float:
    """Return how many calls a row takes, retries included; two if nothing better is known."""
    rows, calls = sum(one.rows for one in history), sum(one.calls - PROBES_OF_A_LEG for one in history)
    return max(float(CALLS_PER_ITEM), calls / rows) if rows >= MIN_ROWS else float(CALLS_PER_ITEM)


def cost_of_row(history: Sequence[Measurement]) -> float | None:
    """Return by how much the headroom fell for each row; the contract does not state which calls are charged."""
    known = [one for one in history if one.quota_spent is not None]
    rows = sum(one.rows for one in known)
    return sum(one.quota_spent or 0 for one in known) / rows if rows >= MIN_ROWS else None


def _measured(history: Sequence[Measurement]) -> Measurement:
    return next((one for one in history if one.rows >= MIN_ROWS), history[0])


def _range_for(rows: int, means: Means) -> tuple[float, float]:
    limits = ({Bind.LANE: rate / CALLS_PER_ITEM} for rate in _UNKNOWN_RATES)
    shortest, longest = (LegSpeed(limits=limit, first_rate=means.first_rate).seconds_for(rows) for limit in limits)
    return shortest, longest


def _rows_short(need: Need, quota: Quota, cost: float) -> int | None:
    if quota.headroom is None:
        return None
    free = max(0, quota.headroom - quota.bounds.reserve - 1)  # the last probe is a call too
    return max(0, need.eligible - int(free / cost))


def _rows_beyond_calls(need: Need, bounds: Bounds, calls_of_row: float) -> int:
    if (most := bounds.max_calls) is None:
        return 0
    return max(0, need.eligible - int(max(0, most - PROBES_OF_A_LEG) / calls_of_row))


def _rows_beyond_closing(need: Need, bounds: Bounds, speed: LegSpeed, now: datetime) -> int:
    if bounds.closes_at is None:
        return 0
    return need.eligible - speed.rows_in((bounds.closes_at - now).total_seconds(), need.eligible)
