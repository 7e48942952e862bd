"""When being throttled leads nowhere: pure, the time is an argument."""

from dataclasses import dataclass, field

from proofsweep.domain.exchanges import Call


@dataclass(slots=True)
class Patience:
    """Watches each call by itself: that one is let through says nothing of another.

    Times are seconds of one monotonic clock.
    """

    longest_pause_seconds: float = 120.0
    _throttled_since: dict[Call, float] = field(default_factory=dict)

    def is_spent(self, call: Call, now: float, pause_seconds: float) -> bool:
        """Take note of a throttle; say whether it has lasted, or is to last, for longer than a run should wait."""
        waited = now - self._throttled_since.setdefault(call, now)
        return max(waited, pause_seconds) > self.longest_pause_seconds

    def renew(self, call: Call) -> None:
        """Take note that a call was let through."""
        self._throttled_since.pop(call, None)
