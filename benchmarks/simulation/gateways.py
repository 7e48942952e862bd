"""What limits a lane at the partner's door."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(slots=True, kw_only=True)
class Gateway:
    """A token bucket, perhaps with a cap on calls at once beside it.

    Attributes:
        rate: tokens per second.
        burst: tokens that it holds; it begins full.
        changes: times at which the rate becomes another, in order.
        cap: calls inside at once.
        charges_refused: a call that is refused takes what is left of a token all the same.
        least_wait: the smallest `Retry-After`, in seconds; None when there is no such header.
        most_wait: the largest.
    """

    rate: float
    burst: float
    changes: Sequence[tuple[float, float]] = ()
    cap: float = math.inf
    charges_refused: bool = False
    least_wait: float | None = 1.0
    most_wait: float = math.inf
    inside: int = 0
    _tokens: float = field(init=False)
    _filled_at: float = 0.0

    def __post_init__(self) -> None:
        self._tokens = self.burst

    def refuses(self, now: float) -> bool:
        """Let a call in, or not."""
        self._fill(now)
        if self.inside < self.cap and self._tokens >= 1:
            self._tokens -= 1
            self.inside += 1
            return False
        if self.charges_refused:
            self._tokens = max(0.0, self._tokens - 1)
        return True

    def retry_after(self, now: float) -> float | None:
        """Give the header of a refusal: whole seconds until there is a token."""
        return self._header((1 - self._tokens) / self.rate_at(now))

    def leave(self) -> None:
        """Take note that a call is answered."""
        self.inside -= 1

    def rate_at(self, now: float) -> float:
        """Give the rate at a time."""
        return next((rate for time, rate in reversed(self.changes) if time <= now), self.rate)

    def admits(self, begin: float, end: float) -> float:
        """Count the tokens that a stretch of time brings."""
        edges = [(0.0, self.rate), *self.changes, (math.inf, 0.0)]
        spans = ((max(begin, since), min(end, until), rate) for (since, rate), (until, _) in pairwise(edges))
        return sum(max(0.0, last - first) * rate for first, last, rate in spans)

    def _fill(self, now: float) -> None:
        self._tokens = min(self.burst, self._tokens + self.admits(self._filled_at, now))
        self._filled_at = now

    def _header(self, seconds: float) -> float | None:
        return None if self.least_wait is None else min(self.most_wait, max(self.least_wait, math.ceil(seconds)))


@dataclass(slots=True, kw_only=True)
class WindowGateway(Gateway):
    """So many calls in each window of so many seconds; nothing is left over for the next."""

    window_seconds: float
    _window: int = -1
    _used: int = 0

    def refuses(self, now: float) -> bool:
        """Let a call in, or not."""
        window = int(now // self.window_seconds)
        if window != self._window:
            self._window, self._used = window, 0
        self._used += 1
        if self._used > self.rate * self.window_seconds:
            return True
        self.inside += 1
        return False

    def retry_after(self, now: float) -> float | None:
        """Give the seconds until the next window."""
        return self._header(self.window_seconds - now % self.window_seconds)
