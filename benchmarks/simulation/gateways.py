"""The limit of a lane, as a partner's gateway enforces it: a clean bucket, a window, or several nodes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random


@dataclass(frozen=True, slots=True, kw_only=True)
class Spells:
    """So many seconds at the end of each period in which a part of all calls is refused, full bucket or not.

    Attributes:
        seconds: how long one is.
        every_seconds: how long it is from one to the next, itself included.
        refused: the part of the calls that is refused meanwhile.
    """

    seconds: float
    every_seconds: float
    refused: float

    def refused_at(self, now: float) -> float:
        """Return the part of the calls that is refused at a time."""
        calm_seconds = self.every_seconds - self.seconds
        return self.refused if now % self.every_seconds >= calm_seconds else 0.0


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
        refused_at_random: the part of the calls that is refused for no reason that a client can know.
        spells: times in which more calls are refused than at random.
        per_minute: the most calls let in during one minute of the clock.
        chance: decides what is random; a trial sets it.
    """

    rate: float
    burst: float
    changes: Sequence[tuple[float, float]] = ()
    concurrency: float = math.inf
    charges_refused: bool = False
    least_wait_seconds: float | None = 1.0
    most_wait_seconds: float = math.inf
    refused_at_random: float = 0.0
    spells: Spells | None = None
    per_minute: float = math.inf
    chance: Random = field(default_factory=lambda: Random(0))
    in_flight: int = 0
    _tokens: float = field(init=False)
    _filled_at: float = 0.0
    _minute: int = 0
    _in_minute: int = 0

    def __post_init__(self) -> None:
        self._tokens = self.burst

    def refuses(self, now: float) -> bool:
        """Decide on a call; a call that is let in takes a token."""
        self._fill(now)
        refused = self.refused_at_random
        if self.spells is not None:
            refused = max(refused, self.spells.refused_at(now))
        if refused and self.chance.random() < refused:
            return True
        if self.in_flight < self.concurrency and self._tokens >= 1 and self._in_minute < self.per_minute:
            self._tokens -= 1
            self._in_minute += 1
            self.in_flight += 1
            return False
        if self.charges_refused:
            self._tokens = max(0.0, self._tokens - 1)
        return True

    def retry_after(self, now: float) -> float | None:
        """Return the header of a refusal: whole seconds until there is a token."""
        if self._in_minute >= self.per_minute:
            return self.header(60 - now % 60)
        return self.header((1 - self._tokens) / self.rate_at(now))

    def release(self) -> None:
        """Record that a call is answered."""
        self.in_flight -= 1

    def rate_at(self, now: float) -> float:
        """Return the rate at a time."""
        return next((rate for time, rate in reversed(self.changes) if time <= now), self.rate)

    def admits(self, begin: float, end: float) -> float:
        """Count the tokens that are added between two times."""
        edges = [(0.0, self.rate), *self.changes, (math.inf, 0.0)]
        if not self.changes:
            return (end - begin) * self.rate
        spans = ((max(begin, since), min(end, until), rate) for (since, rate), (until, _) in pairwise(edges))
        return sum(max(0.0, last - first) * rate for first, last, rate in spans)

    def _fill(self, now: float) -> None:
        self._tokens = min(self.burst, self._tokens + self.admits(self._filled_at, now))
        self._filled_at = now
        if now // 60 != self._minute:
            self._minute, self._in_minute = int(now // 60), 0

    def header(self, seconds: float) -> float | None:
        """Return what a refusal says of the wait, within the bounds of this lane."""
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
        """Decide on a call; refused ones count too."""
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
        return self.header(self.window_seconds - now % self.window_seconds)


@dataclass(slots=True, kw_only=True)
class NodesGateway(Gateway):
    """Several nodes, each with its part of the rate and of the bucket; a call reaches one of them at random."""

    nodes: int
    _each: list[Gateway] = field(init=False)
    _last: Gateway = field(init=False)

    def __post_init__(self) -> None:
        self._each = [Gateway(rate=self.rate / self.nodes, burst=self.burst / self.nodes) for _ in range(self.nodes)]

    def refuses(self, now: float) -> bool:
        """Let a random node decide."""
        self._last = self.chance.choice(self._each)
        return self._last.refuses(now)

    def retry_after(self, now: float) -> float | None:
        """Return the header of the node that refused."""
        return self._last.retry_after(now)
