"""When the next call may go: pure, the time is an argument (contract, Limits: on 429 a client waits and retries)."""

from dataclasses import dataclass, field

from proofsweep.batch.exchanges import Call


@dataclass(slots=True)
class Pacer:
    """One pause shared by all senders.

    The lane's rate is not learned here: all send freely until a 429, then nobody does until its `Retry-After` has
    passed. That one call is let through says nothing of another, which may have a lane of its own. Times are seconds
    of one monotonic clock.
    """

    longest_pause_seconds: float = 120.0
    _open_at: float = 0.0
    _throttled_since: dict[Call, float] = field(default_factory=dict)

    def wait_seconds(self, now: float) -> float:
        """Say how long a call must wait before it may go."""
        return max(0.0, self._open_at - now)

    def was_throttled(self, call: Call, now: float, wait_seconds: float) -> None:
        """Take note of a 429; of a volley of them, the longest wait counts."""
        self._open_at = max(self._open_at, now + wait_seconds)
        self._throttled_since.setdefault(call, now)

    def was_admitted(self, call: Call) -> None:
        """Take note that a call was let through."""
        self._throttled_since.pop(call, None)

    def is_hopeless(self, call: Call, now: float) -> bool:
        """Say whether the service has let no such call through for longer than a run should wait."""
        waited = now - self._throttled_since.get(call, now)
        return max(waited, self._open_at - now) > self.longest_pause_seconds
