"""When to stop believing that the service will answer: pure, the time is an argument."""

from dataclasses import dataclass, field

from proofsweep.batch.exchanges import Call


@dataclass(slots=True)
class Streak:
    """Failures of one call in a row, by whichever items, and when the first of them was."""

    failures: int = 0
    since: float = 0.0


@dataclass(slots=True)
class Breaker:
    """Watches each call by itself: a service may hand out slots and yet verify nothing.

    It trips when a call failed `threshold` times in a row and has done so for `patience_seconds`, so that a short
    restart at the partner's does not end a night's run.
    """

    threshold: int = 10
    patience_seconds: float = 20.0
    _streaks: dict[Call, Streak] = field(default_factory=dict)

    def succeeded(self, call: Call) -> None:
        """Take note of an answer, whatever it said."""
        self._streaks.pop(call, None)

    def failed(self, call: Call, now: float) -> bool:
        """Take note of a failure; say whether the breaker trips."""
        streak = self._streaks.setdefault(call, Streak(since=now))
        streak.failures += 1
        return streak.failures >= self.threshold and now - streak.since >= self.patience_seconds

    def others_fail_too(self, call: Call, own_failures: int) -> bool:
        """Say whether other items fail as well, at this call or at another of the same service.

        Then this item is not to blame: when a service goes away, each item stands at another of its calls.
        """
        streaks = (streak for each, streak in self._streaks.items() if each.is_keyed == call.is_keyed)
        return call in self._streaks and sum(streak.failures for streak in streaks) > own_failures
