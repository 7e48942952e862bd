"""What was let through between two 429s. Pure: the time is an argument."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

# Steps of the search for a rate, which halve its error.
_BISECTIONS = 15
# The shortest stretch, so that calls at one instant have a finite rate.
_INSTANT_SECONDS = 0.01
# Chosen: a change of the pace that begins a new stretch.
_PACE_STEP = 0.04
# Bounds the memory of a cycle; beyond it every second mark goes.
_MOST_MARKS = 96


@dataclass(frozen=True, slots=True)
class Sent:
    """A call that was sent: at what monotonic time, and as which one since the last 429."""

    at: float
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """What was let through between two 429s, the pause after the first one included."""

    # seconds, and calls let through in them, in order; the pace is even within each.
    stretches: Sequence[tuple[float, int]]
    begins_full: bool = False  # no 429 came before it, so the bucket was full

    @property
    def calls(self) -> int:
        """Calls let through."""
        return sum(calls for _, calls in self.stretches)

    @property
    def seconds(self) -> float:
        """Its duration."""
        return sum(seconds for seconds, _ in self.stretches)

    @property
    def uncertainty(self) -> float:
        """How far the rate may be off, as a share of it: by a token or two, and by the clock."""
        return 0.005 + 2.0 / self.calls

    def rate(self, burst: float) -> float:
        """Return the lowest rate at which a bucket of this size could have let so many calls through."""
        low = 0.5 * self.calls / max(_INSTANT_SECONDS, self.seconds)
        high = 2.0 * max(calls / max(_INSTANT_SECONDS, seconds) for seconds, calls in self.stretches)
        for _ in range(_BISECTIONS):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self._lowest_level(middle, burst) < 0 else (low, middle)
        return high

    def _lowest_level(self, rate: float, burst: float) -> float:
        level, lowest = burst if self.begins_full else 0.0, math.inf
        for seconds, calls in self.stretches:
            level = min(burst, level + rate * seconds - calls)
            if calls:
                level = min(level, burst - 1.0)
                lowest = min(lowest, level)
        return lowest


def joined(cycles: Iterable[Cycle]) -> Cycle:
    """Join cycles that follow each other; there must be at least one."""
    first, *others = cycles
    return Cycle(
        stretches=[stretch for cycle in (first, *others) for stretch in cycle.stretches],
        begins_full=first.begins_full,
    )


@dataclass(slots=True)
class CycleRecorder:
    """Records the calls since the last 429: where the pace changed, so that a few stretches describe them."""

    last: Sent | None = None  # the last call; None before the first one
    _marks: list[Sent] = field(default_factory=list)
    _pace: float = 0.0

    def seconds_since_last(self, now: float) -> float:
        """Return the time since the last call."""
        return 0.0 if self.last is None else now - self.last.at

    def send(self, now: float, pace: float, *, was_held_back: bool) -> Sent:
        """Record a call that goes now."""
        last = self.last or Sent(now, 0)
        if not self._pace or not was_held_back:
            self._marks += [last, Sent(now, last.number)]
            self._pace = pace
        elif abs(pace / self._pace - 1.0) > _PACE_STEP:
            self._marks.append(last)
            self._pace = pace
        if len(self._marks) > _MOST_MARKS:
            self._marks[2:] = self._marks[2::2]
        self.last = Sent(now, last.number + 1)
        return self.last

    def until(self, refused: Sent, *, begins_full: bool, since: int = 0) -> Cycle:
        """Return the cycle that a refused call ends, from a call of it on."""
        marks = [mark for mark in self._marks if since <= mark.number < refused.number]
        marks.append(Sent(refused.at, max(0, refused.number - 1)))
        stretches = [(after.at - before.at, after.number - before.number) for before, after in pairwise(marks)]
        return Cycle(stretches=[each for each in stretches if any(each)], begins_full=begins_full)

    def begin(self, refused: Sent) -> None:
        """Begin a cycle with a call that was refused."""
        self.last, self._marks, self._pace = Sent(refused.at, 0), [], 0.0
