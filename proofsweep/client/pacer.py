"""When the next call may go: pure, the time is an argument (contract, Limits: on 429 a client waits and retries)."""

from dataclasses import dataclass


@dataclass(slots=True)
class Pacer:
    """One pause shared by all senders.

    The lane's rate is not learned here: all send freely until a 429, then nobody does until its `Retry-After` has
    passed. Times are seconds of one monotonic clock.
    """

    longest_pause_seconds: float = 120.0
    _open_at: float = 0.0
    _throttled_since: float | None = None

    def wait_seconds(self, now: float) -> float:
        """Say how long a call must wait before it may go."""
        return max(0.0, self._open_at - now)

    def was_throttled(self, now: float, wait_seconds: float) -> None:
        """Take note of a 429; of a volley of them, the longest wait counts."""
        self._open_at = max(self._open_at, now + wait_seconds)
        if self._throttled_since is None:
            self._throttled_since = now

    def was_admitted(self) -> None:
        """Take note that a call was let through."""
        self._throttled_since = None

    def is_hopeless(self, now: float) -> bool:
        """Say whether the service has let nobody through for longer than a run should wait."""
        waited = 0.0 if self._throttled_since is None else now - self._throttled_since
        return max(waited, self._open_at - now) > self.longest_pause_seconds
