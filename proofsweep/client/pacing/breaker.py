"""When to stop believing that the service will answer: pure, the time is an argument."""

from dataclasses import dataclass, field

from proofsweep.domain.exchanges import Call

_LONGEST_QUIET_SECONDS = 60.0
CALLS_FOR_ITEMS = frozenset({Call.UPLOADS, Call.SLOT, Call.VERIFY})


@dataclass(slots=True)
class Streak:
    """Failures of one call in a row, by whichever items; times are seconds of one monotonic clock.

    Attributes:
        since: when the first of them was.
        probes: failures that ended a quiet time; a volley of calls that were on their way together counts once.
        quiet_until: nobody need call before.
    """

    since: float
    failures: int = 0
    probes: int = 0
    quiet_until: float = 0.0


@dataclass(slots=True)
class Breaker:
    """Watches each call by itself: a service may hand out slots and yet verify nothing.

    From `threshold` failures of a call in a row on it is an outage: the service is left alone, and asked again by one
    call after quiet times that double. The breaker trips when that has lasted for `patience_seconds`, so that a short
    restart at the partner's does not end a night's run.
    """

    threshold: int = 10
    patience_seconds: float = 20.0
    _streaks: dict[Call, Streak] = field(default_factory=dict)

    def succeeded(self, call: Call) -> None:
        """Take note of an answer, whatever it said."""
        self._streaks.pop(call, None)

    def failed(self, call: Call, now: float) -> bool:
        """Take note of a failure; say whether the breaker trips. No run has to end because it cannot see its quota."""
        if call not in CALLS_FOR_ITEMS:
            return False
        streak = self._streaks.setdefault(call, Streak(since=now))
        streak.failures += 1
        if streak.failures < self.threshold:
            return False
        left_seconds = streak.since + self.patience_seconds - now
        if now >= streak.quiet_until:
            quiet_seconds = min(_LONGEST_QUIET_SECONDS, 2.0**streak.probes, max(0.0, left_seconds))
            streak.probes, streak.quiet_until = streak.probes + 1, now + quiet_seconds
        return left_seconds <= 0.0

    @property
    def is_outage(self) -> bool:
        """Say whether a call fails for everyone, so that one at a time is enough to notice its end."""
        return any(streak.failures >= self.threshold for streak in self._streaks.values())

    @property
    def quiet_until(self) -> float:
        """The time before which nobody need call; it may have passed."""
        return max((streak.quiet_until for streak in self._streaks.values()), default=0.0)
