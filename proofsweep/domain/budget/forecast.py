"""What a run will cost and when it will end, before it starts: pure (contract, Limits)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from proofsweep.contract.limits import CALLS_PER_ITEM
from proofsweep.domain.budget.bounds import Bounds

_LOOKS_OF_A_LEG = 2
_ENOUGH_ROWS = 20
"""On fewer rows, beginning and looking at the quota would weigh as much as the files."""

_BUSY_CPU = 0.8
_UPLOADING = 0.5


class Bind(StrEnum):
    """What a leg waits for most, or what ends it before its rows do."""

    LANE = "lane"
    UPLINK = "uplink"
    CPU = "cpu"
    ANSWERS = "answers"
    QUOTA = "quota"
    CALLS = "calls"
    WINDOW = "window"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one leg, or a sample, took.

    Attributes:
        rows: that were sent.
        calls: keyed ones, looks at the quota included.
        sent_bytes: of all request bodies.
        throttled: answers 429.
        cpu_seconds: of this program; None where it was not kept.
        upload_share: of the time in exchanges, the part in the slots' form posts; None where there were none.
        quota_spent: by how much the headroom fell; None where it was not told, or rose.
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
        """Say what the work waited for."""
        if self.throttled:
            return Bind.LANE
        if self.cpu_seconds is not None and self.cpu_seconds >= _BUSY_CPU * self.seconds:
            return Bind.CPU
        return Bind.UPLINK if (self.upload_share or 0.0) >= _UPLOADING else Bind.ANSWERS

    def seconds_for(self, need: "Need") -> float:
        """Say how long it would take at this pace: by bytes if the uplink binds, else by rows."""
        if self.binds is Bind.UPLINK and self.sent_bytes:
            return need.audio_bytes * self.seconds / self.sent_bytes
        return need.eligible * self.seconds / self.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What is to be sent: so many items with so much audio."""

    eligible: int
    audio_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """What may be spent: calls left until `reset`, both None where they are not told, within the leg's own bounds."""

    headroom: int | None = None
    reset: datetime | None = None
    bounds: Bounds = field(default_factory=Bounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Calls, quota and time of a run.

    Attributes:
        calls: keyed calls if nothing has to be tried again.
        calls_expected: with tries again as they were needed before, and with looks at the quota.
        cost_of_row: what a row took from the headroom in earlier legs; None until that was seen on enough rows.
        rows_short: rows that are left over for want of quota; None when the quota is not told.
        rows_left: rows that the leg leaves over, for want of quota, calls or time, as far as these are told.
        seconds: of the leg that begins now; None until a pace was measured.
        measured_rows: on how many rows the pace was measured.
        binds: what the leg waits for most, or what ends it.
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


def forecast(need: Need, quota: Quota, history: Sequence[Measured], now: datetime, ask_seconds: float) -> Forecast:
    """Say what so much work will take; `history` is of earlier legs, the newest first."""
    pace = next((one for one in history if one.rows >= _ENOUGH_ROWS), history[0] if history else None)
    seconds = pace.seconds_for(need) if pace else None
    cost = cost_of_row(history)
    short = _rows_short(need, quota, cost or CALLS_PER_ITEM)
    ends = {
        Bind.QUOTA: short or 0,
        Bind.CALLS: _rows_beyond_calls(need, quota.bounds, calls_of_row(history)),
        Bind.WINDOW: _rows_beyond_closing(need, quota.bounds, seconds, now),
    }
    end = max(ends, key=lambda bind: ends[bind])
    if seconds is not None and ends[end]:
        seconds *= (need.eligible - ends[end]) / need.eligible
    looks = _LOOKS_OF_A_LEG + int((seconds or 0.0) // ask_seconds)
    return Forecast(
        calls=need.eligible * CALLS_PER_ITEM,
        calls_expected=math.ceil(need.eligible * calls_of_row(history)) + (looks if need.eligible else 0),
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


def calls_of_row(history: Sequence[Measured]) -> float:
    """Say how many calls a row takes with its tries again; two where nothing better is known."""
    rows, calls = sum(one.rows for one in history), sum(one.calls - _LOOKS_OF_A_LEG for one in history)
    return max(float(CALLS_PER_ITEM), calls / rows) if rows >= _ENOUGH_ROWS else float(CALLS_PER_ITEM)


def cost_of_row(history: Sequence[Measured]) -> float | None:
    """Say by how much the headroom fell for each row; the contract does not state which calls are charged."""
    told = [one for one in history if one.quota_spent is not None]
    rows = sum(one.rows for one in told)
    return sum(one.quota_spent or 0 for one in told) / rows if rows >= _ENOUGH_ROWS else None


def _rows_short(need: Need, quota: Quota, cost: float) -> int | None:
    if quota.headroom is None:
        return None
    free = max(0, quota.headroom - quota.bounds.reserve - 1)  # a leg's last look at the headroom is a call too
    return max(0, need.eligible - int(free / cost))


def _rows_beyond_calls(need: Need, bounds: Bounds, calls_of_row: float) -> int:
    if bounds.max_calls is None:
        return 0
    return max(0, need.eligible - int(max(0, bounds.max_calls - _LOOKS_OF_A_LEG) / calls_of_row))


def _rows_beyond_closing(need: Need, bounds: Bounds, seconds: float | None, now: datetime) -> int:
    """Say how many rows the window leaves over; none where no pace is known."""
    if bounds.closes_at is None or not seconds:
        return 0
    open_seconds = max(0.0, (bounds.closes_at - now).total_seconds())
    return max(0, need.eligible - int(need.eligible * open_seconds / seconds))
