"""The limits of a lane, as a partner's gateway enforces them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(slots=True, kw_only=True)
class Gateway:
    """A token bucket, optionally with a concurrency limit.

    Attributes:
        rate: tokens per second.
        burst: the most tokens that it holds; it begins full.
        changes: times and new rates, in order.
        concurrency: the most calls in flight.
        charges_refused: a refused call takes a token too, or what is left of one.
        least_wait_seconds: the smallest `Retry-After`; None if there is no such header.
        most_wait_seconds: the largest `Retry-After`.
    """

    rate: float
    burst: float
    changes: Sequence[tuple[float, float]] = ()
    concurrency: float = math.inf
    charges_refused: bool = False
    least_wait_seconds: float | None = 1.0
    most_wait_seconds: float = math.inf
    in_flight: int = 0
    _tokens: float = field(init=False)
    _filled_at: float = 0.0

    def __post_init__(self) -> None:
        self._tokens = self.burst

    def refuses(self, now: float) -> bool:
        """Decide on a call; a call that is let in takes a token."""
        self._fill(now)
        if self.in_flight < self.concurrency and self._tokens >= 1:
            self._tokens -= 1
            self.in_flight += 1
            return False
        if self.charges_refused:
            self._tokens = max(0.0, self._tokens - 1)
        return True

    def retry_after(self, now: float) -> float | None:
        """Return the header of a refusal: whole seconds until there is a token."""
        return self._header((1 - self._tokens) / self.rate_at(now))

    def release(self) -> None:
        """Record that a call is answered."""
        self.in_flight -= 1

    def rate_at(self, now: float) -> float:
        """Return the rate at a time."""
        return next((rate for time, rate in reversed(self.changes) if time <= now), self.rate)

    def admits(self, begin: float, end: float) -> float:
        """Count the tokens that are added between two times."""
        edges = [(0.0, self.rate), *self.changes, (math.inf, 0.0)]
        spans = ((max(begin, since), min(end, until), rate) for (since, rate), (until, _) in pairwise(edges))
        return sum(max(0.0, last - first) * rate for first, last, rate in spans)

    def _fill(self, now: float) -> None:
        self._tokens = min(self.burst, self._tokens + self.admits(self._filled_at, now))
        self._filled_at = now

    def _header(self, seconds: float) -> float | None:
        return (
            None
            if self.least_wait_seconds is None
            else min(self.most_wait_seconds, max(self.least_wait_seconds, math.ceil(seconds)))
        )


@dataclass(slots=True, kw_only=True)
class WindowGateway(Gateway):
    """A fixed number of calls per window; unused calls do not carry over."""

    window_seconds: float
    _window: int = -1
    _used: int = 0

    def refuses(self, now: float) -> bool:
        """Decide on a call; a call that is let in takes a token."""
        window = int(now // self.window_seconds)
        if window != self._window:
            self._window, self._used = window, 0
        self._used += 1
        if self._used > self.rate * self.window_seconds:
            return True
        self.in_flight += 1
        return False

    def retry_after(self, now: float) -> float | None:
        """Return the seconds until the next window."""
        return self._header(self.window_seconds - now % self.window_seconds)
