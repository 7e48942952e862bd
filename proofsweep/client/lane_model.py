"""What is known of a lane: the token bucket that explains its 429s, and what else may explain them. Pure.

A single 429 is a hint. Several that came after about the same number of calls are proof of an empty bucket, because
chance spreads. Other users of the lane, and refusals at random, look alike to one client. So a small share of 429s is
accepted without a slower pace, and a larger one is answered with a slower pace, but never with one that is a small part
of the rate.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

_BISECTIONS = 15  # steps of the search for a rate, which halve its error
_INSTANT_SECONDS = 0.01  # the shortest stretch, so that calls at one instant have a finite rate
_PACE_STEP = 0.04
_MOST_MARKS = 96  # bounds the memory of a cycle; beyond it every second mark goes


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """Gains `rate` tokens per second, holds at most `burst`, and gives one to each call that it lets through."""

    rate: float
    burst: float


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
        return sum(calls for _, calls in self.stretches)

    @property
    def seconds(self) -> float:
        return sum(seconds for seconds, _ in self.stretches)

    @property
    def uncertainty(self) -> float:
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

    def send(self, now: float, pace: float, *, was_held_back: bool) -> Sent:
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

    def until(self, refused: Sent, *, begins_full: bool) -> Cycle:
        marks = [mark for mark in self._marks if mark.number < refused.number]
        marks.append(Sent(refused.at, max(0, refused.number - 1)))
        stretches = [(after.at - before.at, after.number - before.number) for before, after in pairwise(marks)]
        return Cycle(stretches=[each for each in stretches if any(each)], begins_full=begins_full)

    def begin(self, refused: Sent) -> None:
        self.last, self._marks, self._pace = Sent(refused.at, 0), [], 0.0


_LIKELY_BURST_WEIGHT = 0.5


def fit(cycles: Sequence[Cycle], likely_burst: float, least_burst: float) -> TokenBucket:
    """Find the bucket that explains the cycles.

    For each size of the bucket every cycle gives a rate; the size is right at which these rates agree. Cycles of one
    kind agree at any size; then the likely size is taken. The size is never smaller than the least.
    """
    best, factor = TokenBucket(0.0, max(1.0, likely_burst)), 1.35
    for points in (5, 2, 2):
        sizes = {max(1.0, least_burst, best.burst * factor**i) for i in range(-points, points + 1)}
        best = min((_agreed(cycles, size, likely_burst) for size in sorted(sizes)), key=lambda found: found[0])[1]
        factor **= 0.4
    return best


def _agreed(cycles: Sequence[Cycle], burst: float, likely_burst: float) -> tuple[float, TokenBucket]:
    rates = [(math.log(cycle.rate(burst)), cycle.uncertainty**-2) for cycle in cycles]
    mean = sum(rate * weight for rate, weight in rates) / sum(weight for _, weight in rates)
    disagreement = sum(weight * (rate - mean) ** 2 for rate, weight in rates)
    unlikely = math.log(burst / max(1.0, likely_burst)) ** 2
    return disagreement + _LIKELY_BURST_WEIGHT * unlikely, TokenBucket(math.exp(mean), burst)


_FEWEST_AGREEING = 3  # 429s that can agree
_CALLS_DIFFER, _CALLS_DIFFER_SHARE = 6.0, 0.2  # how far their calls may differ, as calls and as a share
_CYCLES_PROOF = 300.0  # how many times likelier than chance is proof
_USUAL_CALLS = 300.0  # calls between two 429s, before any were counted
_LEAST_USUAL_CALLS = 5.0  # and at least
_CHANCE_CALLS, _RARE_CALLS = 25.0, 150.0  # chance may refuse one of so many calls, unless 429s are rarer
_CYCLE_WEIGHT = 0.2  # the weight of one cycle in what is usual
_MOST_CYCLES = 64  # cycles that are remembered


@dataclass(slots=True)
class Refusals:
    """The cycles since something was last learned; each ended with a 429 that may be a mere hint."""

    _usual: float = _USUAL_CALLS
    _calm: int = 0
    _cycles: deque[Cycle] = field(default_factory=lambda: deque(maxlen=_MOST_CYCLES))

    def add(self, cycle: Cycle) -> None:
        self._cycles.append(cycle)

    @property
    def usual_calls(self) -> float:
        return max(_LEAST_USUAL_CALLS, self._usual, self._calm)

    def sent(self) -> None:
        self._calm += 1

    def count(self) -> None:
        self._usual += _CYCLE_WEIGHT * (self._calm - self._usual)
        self._calm = 0

    def forget(self) -> None:
        self._cycles.clear()

    def whole(self) -> Cycle:
        return joined(self._cycles)

    def agreeing(self) -> Sequence[Cycle]:
        """Return the last cycles, if they are so alike that chance does not explain them; else none.

        By chance, numbers of calls spread as far as their mean. An empty bucket gives nearly the same number each time.
        """
        cycles, usual = list(self._cycles), self.usual_calls
        if usual < _RARE_CALLS:
            usual = min(_CHANCE_CALLS, usual)
        for number in range(_FEWEST_AGREEING, len(cycles) + 1):
            calls = [cycle.calls for cycle in cycles[-number:]]
            width = _CALLS_DIFFER + _CALLS_DIFFER_SHARE * sum(calls) / number
            if max(calls) - min(calls) > width:
                break
            chance = (width / usual) ** (number - 1) * math.exp(-sum(calls) / usual)
            if any(calls) and chance * _CYCLES_PROOF < 1.0:
                return cycles[-number:]
        return ()


_STEP = 0.03  # how much one 429 lowers the pace, as its logarithm
_CALLS_PER_REFUSAL = 80  # calls that raise it again by as much: the accepted share of 429s is one of so many
_FREE_REFUSALS = 6  # 429s without effect on the pace at first, and again after so many calls
_SHORT_CALLS, _SHORT_FACTOR = 8, 6  # two cycles of so few calls together lower the pace more, up to so many times
# A 429 to the first call after a pause counts so many times, until so many calls went through in a row: others took the
# token that the service has announced.
_NONE_FACTOR, _CALM_CALLS = 8, 40
_MOST = 1.0  # the most that it lowers the pace: to about a third
_SHARED = 0.1  # from here on other users of the lane are assumed


@dataclass(slots=True)
class Contention:
    """A balance: each 429 adds, each call takes away; `margin` is the logarithm of the rate over the pace."""

    _balance: float = -_FREE_REFUSALS * _STEP
    _calls_before: float = _SHORT_CALLS
    _is_new: bool = True
    _accepted_share: float | None = None

    @property
    def margin(self) -> float:
        return max(0.0, self._balance)

    @property
    def is_shared(self) -> bool:
        return self._balance > _SHARED and not self.is_chance

    @property
    def is_chance(self) -> bool:
        return self._accepted_share is not None

    def accept(self, share: float | None) -> None:
        """Accept another share of 429s without a slower pace, since chance refuses them; None for the usual share."""
        self._accepted_share = share
        if share is not None:
            self._balance = min(0.0, self._balance)

    def sent(self) -> None:
        share = self._accepted_share or 1 / _CALLS_PER_REFUSAL
        self._balance = max(-_FREE_REFUSALS * _STEP, self._balance - _STEP * share)

    def refused(self, calls: float) -> None:
        shortness = max(0.0, 1.0 - (calls + self._calls_before) / _SHORT_CALLS)
        self._is_new = self._is_new and calls < _CALM_CALLS
        step = _STEP
        if not self.is_chance:
            step *= 1.0 + _SHORT_FACTOR * shortness + _NONE_FACTOR * (self._is_new and not calls)
        self._calls_before = calls
        self._balance = min(_MOST, self._balance + step)


# The time between two calls of a group is a part of the time until a 429 comes, so that it stops none of them.
_GAPS, _MOST_GAP_SECONDS = 4, 0.008
_LONGEST_SECONDS = 0.05  # a group that took longer shows nothing
_FEWEST_CALLS, _MOST_CALLS = 2, 4  # of a group: those of a second, within these
# How often each next call goes through after a 429: by chance, and if others use the lane.
_THROUGH_BY_CHANCE, _THROUGH_IF_SHARED = 0.96, 0.6
_PROOF, _DISPROOF = 4.0, -2.5  # evidence, as logarithms of how much likelier chance is
_REST = 20  # 429s until groups are sent again
_MOST_GROUPS = 16  # groups whose answers may still come


@dataclass(slots=True)
class ChanceTest:
    """Are calls refused by chance, at any pace? It sends groups of calls and weighs what they show.

    An empty bucket that others use too refuses the next calls of a group as well. Chance refuses one, and the next ones
    go through. Several groups decide, by a sequential probability ratio test (Wald).
    """

    _evidence: float = 0.0
    _resting: int = 0
    _calls: int = 0
    _refusals: int = 0
    _size: int = 0
    _gap: float = _MOST_GAP_SECONDS
    _sent: list[float] = field(default_factory=list)
    _groups: deque[list[float]] = field(default_factory=lambda: deque(maxlen=_MOST_GROUPS))
    _next_ones: list[float] = field(default_factory=list)

    @property
    def has_begun(self) -> bool:
        return bool(self._groups)

    @property
    def is_proven(self) -> bool:
        return self._evidence > _PROOF

    @property
    def share(self) -> float:
        return self._refusals / max(1, self._calls)

    def gap_seconds(self, now: float, usual: float) -> float:
        if self._resting > 0:
            return usual
        self._calls += 1
        if not self._sent:
            self._size = max(_FEWEST_CALLS, min(_MOST_CALLS, int(1.0 / usual)))
        self._sent.append(now)
        if len(self._sent) < self._size:
            return self._gap
        if now - self._sent[0] < _LONGEST_SECONDS:
            self._groups.append(self._sent)
        self._sent = []
        return max(0.0, self._size * usual - (self._size - 1) * self._gap)

    def refused(self, sent_at: float, now: float) -> None:
        self._weigh(is_through=True)
        self._gap = min(_MOST_GAP_SECONDS, (now - sent_at) / _GAPS)
        group = next((group for group in self._groups if sent_at in group), [])
        self._next_ones = [other for other in group if other > sent_at]
        self._resting -= 1
        self._refusals += 1

    def refused_too(self, sent_at: float) -> None:
        if sent_at in self._next_ones:
            self._weigh(is_through=False)

    def reject(self) -> None:
        self._evidence, self._resting, self._calls, self._refusals = 0.0, _REST, 0, 0

    def _weigh(self, *, is_through: bool) -> None:
        number, self._next_ones = len(self._next_ones), []
        if number:
            chance, shared = _THROUGH_BY_CHANCE**number, _THROUGH_IF_SHARED**number
            self._evidence += math.log(chance / shared if is_through else (1 - chance) / (1 - shared))
        if self._evidence < _DISPROOF:
            self.reject()
