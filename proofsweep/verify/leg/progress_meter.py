"""Measure how fast a leg goes: rows and calls per second, and the time that is left."""

import threading
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile

from proofsweep.model.progress import QUIET_SECONDS, WaitsFor

_STEP_SECONDS = 1.0  # counts are kept once in so many seconds
_RATE_SECONDS = 60.0  # what "now" means for a rate
_ESTIMATE_SECONDS = 600.0  # the rate that the time left is told by
_KEPT = int(_ESTIMATE_SECONDS / _STEP_SECONDS) + 1


@dataclass(frozen=True, slots=True)
class Speed:
    rows: float  # per second
    calls: float  # per second


@dataclass(slots=True)
class ProgressMeter:
    """The counts of a leg's last minutes; safe to use from several threads. Times are monotonic seconds."""

    _samples: deque[tuple[float, int, int]] = field(default_factory=lambda: deque(maxlen=_KEPT))
    _moved_at: float | None = None
    _rows: int = 0
    _waits_for: WaitsFor | None = None
    _waits_since: datetime | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, now: float, rows: int, calls: int) -> None:
        with self._lock:
            if self._moved_at is None or rows != self._rows:
                self._moved_at, self._rows = now, rows
            if not self._samples or now - self._samples[-1][0] >= _STEP_SECONDS:
                self._samples.append((now, rows, calls))

    @property
    def speed(self) -> Speed | None:
        """How fast it went in the last minute; None before a second has passed."""
        return self._over(_RATE_SECONDS)

    def seconds_left(self, remaining: int) -> float | None:
        """Return the time for so many rows, by the rate of the last ten minutes; None without a rate."""
        speed = self._over(_ESTIMATE_SECONDS)
        return None if speed is None or not speed.rows else remaining / speed.rows

    def is_quiet(self, now: float) -> bool:
        return self._moved_at is not None and now - self._moved_at >= QUIET_SECONDS

    def waits_since(self, waits_for: WaitsFor | None, now: datetime) -> datetime | None:
        with self._lock:
            if waits_for is not self._waits_for:
                self._waits_for, self._waits_since = waits_for, now
            return None if waits_for is None else self._waits_since

    def _over(self, seconds: float) -> Speed | None:
        with self._lock:
            if not self._samples:
                return None
            last = self._samples[-1]
            *_, first = takewhile(lambda sample: last[0] - sample[0] <= seconds, reversed(self._samples))
        passed = last[0] - first[0]
        if passed <= 0.0:
            return None
        return Speed(rows=(last[1] - first[1]) / passed, calls=(last[2] - first[2]) / passed)
