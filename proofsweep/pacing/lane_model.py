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
from operator import mul

_LEAST_RATE = 0.01  # the lowest rate learned, in calls per second
_INSTANT_SECONDS = 0.01  # the shortest stretch, so that calls at one instant have a finite rate


@dataclass(frozen=True, slots=True)
class Sent:
    """When a call was sent (monotonic), and its number since the last 429."""

    at: float
    number: int


@dataclass(frozen=True, slots=True)
class Cycle:
    """What was let through between two 429s, the pause after the first one included."""

    marks: Sequence[tuple[float, int]]  # after so many seconds, so many calls; the pace is even in between
    begins_full: bool = False  # no 429 came before it, so the bucket was full

    @property
    def seconds(self) -> float:
        return self.marks[-1][0]

    @property
    def calls(self) -> int:
        return self.marks[-1][1]

    @property
    def uncertainty(self) -> float:
        return 0.005 + 2.0 / max(1, self.calls)

    def rate(self, burst: float) -> float:
        """Return the lowest rate at which a bucket of this size could have let so many calls through."""
        stretches = list[tuple[float, int]]()
        for (begins, calls_before), (ends, calls) in pairwise(self.marks):
            seconds = max(_INSTANT_SECONDS, ends - begins)
            stretches.append((seconds, calls - calls_before))
        # By bisection: a cycle of many hints has hundreds of marks, and each 429 asks for many sizes.
        highest_pace = max(calls / seconds for seconds, calls in stretches)
        low, high = _LEAST_RATE, _LEAST_RATE + 2 * highest_pace
        while high > 1.0001 * low:
            middle = math.sqrt(low * high)
            if self._is_enough(middle, burst, stretches):
                high = middle
            else:
                low = middle
        return high

    def _is_enough(self, rate: float, burst: float, stretches: Sequence[tuple[float, int]]) -> bool:
        level = burst if self.begins_full else 0.0
        for seconds, calls in stretches:
            level = min(burst, level + rate * seconds - calls)
            # A bucket is never full right after a call, which took a token of it.
            if calls:
                level = min(level, burst - 1)
                if level < 0:
                    return False
        return True


def joined(cycles: Iterable[Cycle]) -> Cycle:
    first, *others = cycles
    marks = [*first.marks]
    for cycle in others:
        seconds_before, calls_before = marks[-1]
        for seconds, calls in cycle.marks[1:]:
            marks.append((seconds_before + seconds, calls_before + calls))
    return Cycle(marks, first.begins_full)


def fit(cycles: Sequence[Cycle], likely_burst: float, least_burst: float) -> tuple[float, float]:
    """Return rate and size of the bucket that explains the cycles; it is no smaller than the least.

    For each size every cycle gives a rate; the size is right at which these rates agree.
    """
    candidates = list[tuple[float, float, float]]()
    weights = [cycle.uncertainty**-2 for cycle in cycles]
    for step in range(-7, 8):
        burst = max(1.0, least_burst, likely_burst * 1.25**step)
        log_rates = [math.log(cycle.rate(burst)) for cycle in cycles]
        mean = sum(map(mul, log_rates, weights)) / sum(weights)
        squares = [(log_rate - mean) ** 2 for log_rate in log_rates]
        disagreement = sum(map(mul, weights, squares))
        # Cycles of one kind agree at any size. Then the likely size alone decides.
        unlikeliness = math.log(burst / max(1.0, likely_burst)) ** 2
        candidates.append((disagreement + unlikeliness / 2, math.exp(mean), burst))
    _, rate, burst = min(candidates)
    return rate, burst


_FEWEST_AGREEING = 3  # 429s that can agree
_CALLS_DIFFER, _CALLS_DIFFER_SHARE = 6.0, 0.2  # how far their calls may differ, as calls and as a share
_CHANCE_CALLS, _RARE_CALLS = 25.0, 150.0  # chance may refuse one of so many calls, unless 429s are rarer
_PROOF_OF_CYCLES = 1 / 300  # so unlikely by chance is proof


def agreeing(cycles: Sequence[Cycle], usual_calls: float) -> Sequence[Cycle]:
    """Return the last cycles, if they are so alike that chance does not explain them; else none.

    By chance, numbers of calls spread as far as their mean. An empty bucket gives nearly the same number each time.
    """
    usual = usual_calls
    if usual < _RARE_CALLS:
        usual = min(_CHANCE_CALLS, usual)
    for number in range(_FEWEST_AGREEING, len(cycles) + 1):
        last_cycles = cycles[-number:]
        calls = [cycle.calls for cycle in last_cycles]
        width = _CALLS_DIFFER + _CALLS_DIFFER_SHARE * sum(calls) / number
        if max(calls) - min(calls) > width:
            break
        chance_of_closeness = (width / usual) ** (number - 1)
        chance_of_calls = math.exp(-sum(calls) / usual)
        # A bucket lets a call in after each pause that it told. Where fewer go through, something else refuses them.
        has_one_each = sum(calls) >= number
        if has_one_each and chance_of_closeness * chance_of_calls < _PROOF_OF_CYCLES:
            return last_cycles
    return ()


_STEP = 0.03  # how much one 429 lowers the pace, as its logarithm
_ACCEPTED, _ACCEPTED_BY_CHANCE = 1 / 80, 0.055  # the share of 429s that lowers no pace
_FREE = 6 * _STEP  # so many 429s without effect on the pace at first, and again after as many calls
_SHORT_CALLS = 8  # two cycles of so few calls together lower the pace more, and so does none after a pause at first
# Until so many calls went through in a row, others took the token that the service has announced.
_CALM_CALLS = 40
_SHARED = 0.1  # from here on other users of the lane are assumed


@dataclass(slots=True)
class Contention:
    """A balance: each 429 adds, each call takes away; `margin` is the logarithm of the rate over the pace."""

    balance: float = -_FREE
    is_chance: bool = False  # chance refuses calls: a larger share is accepted
    _calls_before: float = _SHORT_CALLS
    _is_new: bool = True

    @property
    def margin(self) -> float:
        return max(0.0, self.balance)

    @property
    def is_shared(self) -> bool:
        return self.balance > _SHARED and not self.is_chance

    def sent(self) -> None:
        accepted = _ACCEPTED_BY_CHANCE if self.is_chance else _ACCEPTED
        self.balance = max(-_FREE, self.balance - _STEP * accepted)

    def refused(self, calls: float) -> None:
        self._is_new = self._is_new and calls < _CALM_CALLS
        steps = 1.0
        if not self.is_chance:
            shortness = max(0.0, 1.0 - (calls + self._calls_before) / _SHORT_CALLS)
            steps += 6 * shortness
            steps += 3 * (self._is_new and not calls)
        self._calls_before = calls
        self.balance = min(1.0, self.balance + steps * _STEP)


_GAP_SECONDS, _GROUP_SECONDS = 0.008, 0.05  # so short that a 429 stops no call of its group; beyond, none belongs to it
_THROUGH_BY_CHANCE, _THROUGH_IF_SHARED = 0.96, 0.6  # how often each next call of a group goes through after a 429
_PROOF, _DISPROOF = 4.0, -3.0  # evidence, as logarithms of how much likelier chance is
_REST = 20  # 429s until groups are sent again


@dataclass(slots=True)
class ChanceTest:
    """Are calls refused by chance, at any pace? It sends groups of calls and weighs what they show.

    An empty bucket that others use too refuses the next calls of a group as well. Chance refuses one, and the next ones
    go through. Several groups decide, by a sequential probability ratio test (Wald).
    """

    _evidence: float = 0.0
    _resting: int = 0
    _position: int = 0  # of the next call in its group
    _sent: deque[float] = field(default_factory=lambda: deque(maxlen=64))
    _next_calls: list[float] = field(default_factory=list)  # of the group of the last refused call, when they were sent

    @property
    def has_begun(self) -> bool:
        return bool(self._sent)

    @property
    def is_proven(self) -> bool:
        return self._evidence > _PROOF

    def gap_seconds(self, now: float, usual: float) -> float:
        """Return the time until the next call. A group has the calls of a second, two to four of them."""
        if self._resting > 0:
            return usual
        size = max(2, min(4, int(1.0 / usual)))
        self._sent.append(now)
        self._position = (self._position + 1) % size
        if self._position:
            return _GAP_SECONDS
        # After a group, the rest of the time that its calls have at the usual pace.
        return max(0.0, size * usual - (size - 1) * _GAP_SECONDS)

    def refused(self, sent_at: float) -> None:
        self._weigh(is_through=True)
        group_ends = sent_at + _GROUP_SECONDS
        next_calls = [at for at in self._sent if sent_at < at < group_ends]
        self._next_calls = next_calls[:3]
        self._resting -= 1

    def refused_too(self, sent_at: float) -> None:
        if sent_at in self._next_calls:
            self._weigh(is_through=False)

    def reject(self) -> None:
        self._evidence, self._resting = 0.0, _REST

    def _weigh(self, *, is_through: bool) -> None:
        number = len(self._next_calls)
        self._next_calls = []
        if number:
            # How likely all of them go through by either explanation, or not all.
            by_chance, if_shared = _THROUGH_BY_CHANCE**number, _THROUGH_IF_SHARED**number
            if not is_through:
                by_chance, if_shared = 1 - by_chance, 1 - if_shared
            self._evidence += math.log(by_chance / if_shared)
        if self._evidence < _DISPROOF:
            self.reject()
