"""The throttle: one token bucket per meter and lane."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A throttle lane: `rate` in calls per second, and `burst` in calls at once after a pause."""

    rate: float
    burst: float


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Throttle:
    """Admits a call or says how long to wait; the time is an argument (unix seconds)."""

    def __init__(self, lanes: dict[str, Lane]) -> None:
        self._lanes = dict(lanes)
        self._buckets: dict[tuple[str, str], _Bucket] = {}

    def set_lane(self, name: str, lane: Lane) -> None:
        """Change a lane; its buckets are full again."""
        self._lanes[name] = lane
        for key in list(self._buckets):
            if key[1] == name:
                del self._buckets[key]

    def wait_seconds(self, meter: str, name: str, now: float) -> int:
        """Take a token and return 0, or return the whole seconds until the next token."""
        lane = self._lanes[name]
        full = _Bucket(lane.burst, now)
        bucket = self._buckets.setdefault((meter, name), full)
        passed = max(0.0, now - bucket.at)  # an operator may move the clock back
        refilled = bucket.tokens + passed * lane.rate
        bucket.tokens = min(lane.burst, refilled)
        bucket.at = now
        if bucket.tokens >= 1:
            bucket.tokens -= 1
            return 0
        missing = 1 - bucket.tokens
        return math.ceil(missing / lane.rate)
