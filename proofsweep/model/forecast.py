"""Predict what a run will cost and when it will end, before it starts. Pure (contract, Limits)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from proofsweep.contract.limits import CALLS_PER_ITEM
from proofsweep.model.bounds import Bounds

# A leg probes the quota at its start and at its end.
_PROBES_OF_A_LEG = 2

# Fewest rows that give a pace and a cost.
MIN_ROWS = 20

# Share of the time from which the CPU bounds a leg.
_MIN_CPU_SHARE = 0.8

# Share of the time in exchanges from which uploads bound a leg.
_MIN_UPLOAD_SHARE = 0.5


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
    """What one leg took.

    Attributes:
        rows: rows that were sent.
        calls: keyed calls, probes of the quota included.
        sent_bytes: bytes of all request bodies.
        throttled: answers with status 429.
        cpu_seconds: of this program; None if not recorded.
        upload_share: the share of form posts in the time of all exchanges, 0 to 1; None without a form post.
        quota_spent: by how much the headroom fell; None if it is not known or rose.
    """

    rows: int
    seconds: float
    calls: int
    sent_bytes: int = 0
    throttled: int = 0
    cpu_seconds: float | None = None
    upload_share: float | None = None
    quota_spent: int | None = None

    @property
    def binds(self) -> Bind:
        """Return what limited the speed."""
        if self.throttled:
            return Bind.LANE
        if self.cpu_seconds is not None and self.cpu_seconds >= _MIN_CPU_SHARE * self.seconds:
            return Bind.CPU
        return Bind.UPLINK if (self.upload_share or 0.0) >= _MIN_UPLOAD_SHARE else Bind.ANSWERS

    def seconds_for(self, need: "Need") -> float:
        """Return how long the need takes at this pace: by bytes if the uplink limits it, otherwise by rows."""
        if self.binds is Bind.UPLINK and self.sent_bytes:
            return need.audio_bytes * self.seconds / self.sent_bytes
        return need.eligible * self.seconds / self.rows


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
    """Calls, quota and time of a run.

    Attributes:
        calls: keyed calls without any retry.
        calls_expected: keyed calls with as many retries as in earlier legs, and with probes of the quota.
        cost_of_row: what a row took from the headroom in earlier legs; None until measured on enough rows.
        rows_short: rows that the quota does not cover; None if the quota is not known.
        rows_left: rows that the leg leaves, because of quota, calls or time, as far as these are known.
        seconds: of the leg that begins now; None until a pace was measured.
        measured_rows: on how many rows the pace was measured.
        binds: what limits the speed of the leg, or ends it while rows remain.
    """

    calls: int
    calls_expected: int
    cost_of_row: float | None
    headroom: int | None
    reserve: int
    quota_reset: datetime | None
    rows_short: int | None
    rows_left: int
    seconds: float | None
    ends_at: datetime | None
    measured_rows: int | None
    binds: Bind | None


def forecast(need: Need, quota: Quota, history: Sequence[Measurement], now: datetime, ask_seconds: float) -> Forecast:
    """Return what the need will take; `history` is of earlier legs, the newest first."""
    pace = next((one for one in history if one.rows >= MIN_ROWS), history[0] if history else None)
    seconds = pace.seconds_for(need) if pace else None
    cost = cost_of_row(history)
    short = _rows_short(need, quota, cost or CALLS_PER_ITEM)
    ends = rows_left_by(need, quota, history)
    ends[Bind.WINDOW] = _rows_beyond_closing(need, quota.bounds, seconds, now)
    end = max(ends, key=lambda bind: ends[bind])
    if seconds is not None and ends[end]:
        seconds *= (need.eligible - ends[end]) / need.eligible
    probes = _PROBES_OF_A_LEG + int((seconds or 0.0) // ask_seconds)
    return Forecast(
        calls=need.eligible * CALLS_PER_ITEM,
        calls_expected=math.ceil(need.eligible * calls_of_row(history)) + (probes if need.eligible else 0),
        cost_of_row=cost,
        headroom=quota.headroom,
        reserve=quota.bounds.reserve,
        quota_reset=quota.reset if quota.reset and quota.reset > now else None,
        rows_short=short,
        rows_left=ends[end],
        seconds=seconds,
        ends_at=None if seconds is None else now + timedelta(seconds=seconds),
        measured_rows=pace.rows if pace else None,
        binds=end if ends[end] else pace.binds if pace else None,
    )


def rows_left_by(need: Need, quota: Quota, history: Sequence[Measurement]) -> dict[Bind, int]:
    """Return how many rows the quota leaves, as far as it is known, and how many the limit of calls leaves."""
    return {
        Bind.QUOTA: _rows_short(need, quota, cost_of_row(history) or CALLS_PER_ITEM) or 0,
        Bind.CALLS: _rows_beyond_calls(need, quota.bounds, calls_of_row(history)),
    }


def calls_of_row(history: Sequence[Measurement]) -> float:
    """Return how many calls a row takes, retries included; two if nothing better is known."""
    rows, calls = sum(one.rows for one in history), sum(one.calls - _PROBES_OF_A_LEG for one in history)
    return max(float(CALLS_PER_ITEM), calls / rows) if rows >= MIN_ROWS else float(CALLS_PER_ITEM)


def cost_of_row(history: Sequence[Measurement]) -> float | None:
    """Return by how much the headroom fell for each row; the contract does not state which calls are charged."""
    known = [one for one in history if one.quota_spent is not None]
    rows = sum(one.rows for one in known)
    return sum(one.quota_spent or 0 for one in known) / rows if rows >= MIN_ROWS else None


def _rows_short(need: Need, quota: Quota, cost: float) -> int | None:
    if quota.headroom is None:
        return None
    free = max(0, quota.headroom - quota.bounds.reserve - 1)  # the last probe is a call too
    return max(0, need.eligible - int(free / cost))


def _rows_beyond_calls(need: Need, bounds: Bounds, calls_of_row: float) -> int:
    if (most := bounds.max_calls) is None:
        return 0
    return max(0, need.eligible - int(max(0, most - _PROBES_OF_A_LEG) / calls_of_row))


def _rows_beyond_closing(need: Need, bounds: Bounds, seconds: float | None, now: datetime) -> int:
    """Return how many rows the window leaves; none without a known pace."""
    if bounds.closes_at is None or not seconds:
        return 0
    open_seconds = max(0.0, (bounds.closes_at - now).total_seconds())
    return max(0, need.eligible - int(need.eligible * open_seconds / seconds))
