"""Limits of a lane that are no clean bucket, as a partner's gateway may enforce them."""

from dataclasses import dataclass, field

from benchmarks.simulation.gateway import Gateway


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
