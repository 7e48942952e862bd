"""Predict what a run will cost and when it will end, in closed form, by what an earlier leg showed."""

import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from proofsweep.domain.exchanges import CALLS_PER_ITEM
from proofsweep.domain.runs import Bounds

PROBES_OF_A_LEG = 2  # of the quota, at its start and at its end
_FULL = 0.8  # the share of a lane from which it bounds a leg
_UNKNOWN_RATES = (50.0, 5.0)  # calls a second between which the lane of a key may be that no run has measured
_LEAST_SHARING = 1.5  # uploads at once, from which a link may be full


class Bind(StrEnum):
    """What limits the speed of a leg, or ends it while rows remain."""

    LANE = "lane"
    UPLINK = "uplink"
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
    call_seconds: float  # time of all calls of a row together
    upload_seconds: float  # of these, the time of its form posts

    @property
    def calls_of_row(self) -> float:
        return max(float(CALLS_PER_ITEM), (self.calls - PROBES_OF_A_LEG) / self.rows)

    @property
    def calls_let_in(self) -> int:
        return max(0, self.calls - self.throttled - PROBES_OF_A_LEG)

    def shows_uplink(self, rate: float | None) -> bool:
        """Whether uploads took most of the time, several at once, and the lane was not full."""
        if rate is not None and self.calls_let_in >= _FULL * rate * self.seconds:
            return False
        uploads_at_once = self.upload_seconds * self.rows / self.seconds
        return 2 * self.upload_seconds >= self.call_seconds and uploads_at_once >= _LEAST_SHARING


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    calls: int  # keyed calls for files without any retry, if each row takes its own
    calls_least: int  # the same without the rows that may need none
    calls_of_quota: int  # keyed calls that read the quota, also of a run that sends nothing
    calls_expected: int  # with as many retries as in the leg that was measured, and probes of the quota
    headroom: int | None
    reserve: int
    quota_reset: datetime | None
    rows_short: int | None  # rows that the quota does not cover; None if the quota is not known
    rows_left: int  # rows that the leg leaves, because of quota, calls or time, as far as these are known
    seconds: float | None  # of the leg that begins now, at the soonest; None until a leg was measured
    # the shortest and the longest time that it may take, while no refusal has shown the lane of the key; else None.
    seconds_range: tuple[float, float] | None
    ends_at: datetime | None  # None, too, if only a range is known
    measured_rows: int | None  # on how many rows the pace was measured
    rate: float | None  # calls per second that the key is known to get; None if its limit was never reached
    binds: Bind | None  # what ends the leg while rows remain, or limits its speed
    pace_binds: Bind | None
    seconds_if_doubled: float | None  # of the leg with twice of what limits its speed


def forecast(
    eligible: int, audio_bytes: int, means: Means, measured: Measurement | None, now: datetime, *, may_be_free: int = 0
) -> Forecast:
    """Return what so many items with so much audio will take, by the newest leg that was measured.

    Of those that may need no call, only their number of calls is a range: all else is as if each needed its own.
    """
    calls_of_row: float = CALLS_PER_ITEM
    limits: dict[Bind, float] = {}  # files per second
    if measured is not None:
        calls_of_row = measured.calls_of_row
        limits = _limits(measured, audio_bytes / max(1, eligible), means)
    pace = min(limits, key=lambda bind: limits[bind], default=None)
    files_per_second = None if pace is None else limits[pace]
    left = _rows_left(eligible, calls_of_row, files_per_second, means, now)
    end = max(left, key=lambda bind: left[bind])
    rows = eligible - left[end]
    seconds, seconds_if_doubled = None, None
    if pace is not None:
        seconds = rows / limits[pace]
        doubled = limits | {pace: 2 * limits[pace]}  # then another limit may be the lowest
        seconds_if_doubled = rows / min(doubled.values())
    seconds_range = None
    if measured is None or seconds is None:
        fastest, slowest = _UNKNOWN_RATES
        seconds_range = eligible * CALLS_PER_ITEM / fastest, eligible * CALLS_PER_ITEM / slowest
    elif Bind.LANE not in limits:  # the leg's own pace was let through; a faster one may not be
        seconds_range = seconds, max(seconds, rows * measured.seconds / measured.rows)
    ends_at = None
    if seconds is not None and seconds_range is None:
        ends_at = now + timedelta(seconds=seconds)
    calls_expected = math.ceil(eligible * calls_of_row) + PROBES_OF_A_LEG
    is_reset_ahead = means.reset is not None and means.reset > now
    return Forecast(
        calls=eligible * CALLS_PER_ITEM,
        calls_least=(eligible - may_be_free) * CALLS_PER_ITEM,
        calls_of_quota=PROBES_OF_A_LEG,
        calls_expected=calls_expected,
        headroom=means.headroom,
        reserve=means.bounds.reserve,
        quota_reset=means.reset if is_reset_ahead else None,
        rows_short=None if means.headroom is None else left[Bind.QUOTA],
        rows_left=left[end],
        seconds=seconds,
        seconds_range=seconds_range,
        ends_at=ends_at,
        measured_rows=None if measured is None else measured.rows,
        rate=means.rate,
        binds=end if left[end] else pace,
        pace_binds=pace,
        seconds_if_doubled=seconds_if_doubled,
    )


def _rows_left(
    eligible: int, calls_of_row: float, files_per_second: float | None, means: Means, now: datetime
) -> dict[Bind, int]:
    """Return how many rows remain if each bound alone ends the leg."""
    bounds = means.bounds
    fitting = {Bind.QUOTA: eligible}
    if means.headroom is not None:
        free = means.headroom - bounds.reserve - 1  # the last probe is a call too
        fitting[Bind.QUOTA] = int(max(0, free) / CALLS_PER_ITEM)
    if bounds.max_calls is not None:
        fitting[Bind.CALLS] = int(max(0, bounds.max_calls - PROBES_OF_A_LEG) / calls_of_row)
    if bounds.closes_at is not None and files_per_second is not None:
        open_seconds = (bounds.closes_at - now).total_seconds()
        fitting[Bind.WINDOW] = int(max(0.0, open_seconds) * files_per_second)
    return {bind: max(0, eligible - rows) for bind, rows in fitting.items()}


def _limits(leg: Measurement, mean_bytes: float, means: Means) -> dict[Bind, float]:
    """Return the files per second that each thing lets through; that of a thing that was not full is not known."""
    limits = {Bind.THREADS: means.workers / leg.call_seconds}
    if means.rate is not None:
        calls_of_row = max(float(CALLS_PER_ITEM), leg.calls_let_in / leg.rows)
        limits[Bind.LANE] = means.rate / calls_of_row
    elif leg.throttled:
        limits[Bind.LANE] = leg.rows / leg.seconds
    if mean_bytes and leg.shows_uplink(means.rate):
        limits[Bind.UPLINK] = leg.sent_bytes / leg.seconds / mean_bytes
    return limits
