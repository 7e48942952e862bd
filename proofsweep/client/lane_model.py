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

_LEAST_RATE = 0.01  # the lowest rate learned, in calls per second
_INSTANT_SECONDS = 0.01  # the shortest stretch, so that calls at one instant have a finite rate


@dataclass(frozen=True, slots=True)
class Sent:
    """A call that was sent: at what monotonic time, and as which one since the last 429."""

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
        """Return the lowest rate at which a bucket of this size could have let so many calls through.

        By bisection: a cycle of many hints has hundreds of marks, and each 429 asks for many sizes.
        """
        stretches = [
            (max(_INSTANT_SECONDS, seconds - at), calls - before)
            for (at, before), (seconds, calls) in pairwise(self.marks)
        ]
        low, high = _LEAST_RATE, _LEAST_RATE + 2 * max(calls / seconds for seconds, calls in stretches)
        while high > 1.0001 * low:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self._is_enough(middle, burst, stretches) else (middle, high)
        return high

    def _is_enough(self, rate: float, burst: float, stretches: Sequence[tuple[float, int]]) -> bool:
        level = burst if self.begins_full else 0.0
        for seconds, calls in stretches:
            level = min(burst, level + rate * seconds - calls)
            if calls:
                level = min(level, burst - 1)
                if level < 0:
                    return False
        return True


def joined(cycles: Iterable[Cycle]) -> Cycle:
    first, *others = cycles
    marks = [*first.marks]
    for cycle in others:
        at, before = marks[-1]
        marks += [(at + seconds, before + calls) for seconds, calls in cycle.marks[1:]]
    return Cycle(marks, first.begins_full)


def fit(cycles: Sequence[Cycle], likely_burst: float, least_burst: float) -> tuple[float, float]:
    """Return rate and size of the bucket that explains the cycles; it is no smaller than the least.

    For each size every cycle gives a rate; the size is right at which these rates agree. Cycles of one kind agree at
    any size; then the likely size is taken.
    """
    found = []
    for step in range(-7, 8):
        burst = max(1.0, least_burst, likely_burst * 1.25**step)
        rates = [(math.log(cycle.rate(burst)), cycle.uncertainty**-2) for cycle in cycles]
        mean = sum(rate * weight for rate, weight in rates) / sum(weight for _, weight in rates)
        disagreement = sum(weight * (rate - mean) ** 2 for rate, weight in rates)
        unlikely = math.log(burst / max(1.0, likely_burst)) ** 2
        found.append((disagreement + unlikely / 2, math.exp(mean), burst))
    return min(found)[1:]


_FEWEST_AGREEING = 3  # 429s that can agree
_CALLS_DIFFER, _CALLS_DIFFER_SHARE = 6.0, 0.2  # how far their calls may differ, as calls and as a share
_CHANCE_CALLS, _RARE_CALLS = 25.0, 150.0  # chance may refuse one of so many calls, unless 429s are rarer
_PROOF_OF_CYCLES = 1 / 300  # so unlikely by chance is proof


def agreeing(cycles: Sequence[Cycle], usual_calls: float) -> Sequence[Cycle]:
    """Return the last cycles, if they are so alike that chance does not explain them; else none.

    By chance, numbers of calls spread as far as their mean. An empty bucket gives nearly the same number each time.
    """
    usual = usual_calls if usual_calls >= _RARE_CALLS else min(_CHANCE_CALLS, usual_calls)
    for number in range(_FEWEST_AGREEING, len(cycles) + 1):
        calls = [cycle.calls for cycle in cycles[-number:]]
        width = _CALLS_DIFFER + _CALLS_DIFFER_SHARE * sum(calls) / number
        if max(calls) - min(calls) > width:
            break
        if any(calls) and (width / usual) ** (number - 1) * math.exp(-sum(calls) / usual) < _PROOF_OF_CYCLES:
            return cycles[-number:]
    return ()


_STEP = 0.03  # how much one 429 lowers the pace, as its logarithm
_ACCEPTED, _ACCEPTED_BY_CHANCE = 1 / 80, 0.055  # the share of 429s that lowers no pace
_FREE = 6 * _STEP  # so many 429s without effect on the pace at first, and again after as many calls
_SHORT_CALLS = 8  # two cycles of so few calls together lower the pace more, and so does none after a pause at first:
_CALM_CALLS = 40  # until so many calls went through in a row, others took the token that the service has announced
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
        self.balance = max(-_FREE, self.balance - _STEP * (_ACCEPTED_BY_CHANCE if self.is_chance else _ACCEPTED))

    def refused(self, calls: float) -> None:
        shortness = max(0.0, 1.0 - (calls + self._calls_before) / _SHORT_CALLS)
        self._is_new = self._is_new and calls < _CALM_CALLS
        steps = 1.0 if self.is_chance else 1.0 + 6 * shortness + 3 * (self._is_new and not calls)
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
    _place: int = 0  # of the next call in its group
    _sent: deque[float] = field(default_factory=lambda: deque(maxlen=64))
    _next_ones: list[float] = field(default_factory=list)

    @property
    def has_begun(self) -> bool:
        return bool(self._sent)

    @property
    def is_proven(self) -> bool:
        return self._evidence > _PROOF

    def gap_seconds(self, now: float, usual: float) -> float:
        """Return the time until the next call: groups have two to four calls, those of a second."""
        if self._resting > 0:
            return usual
        size = max(2, min(4, int(1.0 / usual)))
        self._sent.append(now)
        self._place = (self._place + 1) % size
        return _GAP_SECONDS if self._place else max(0.0, size * usual - (size - 1) * _GAP_SECONDS)

    def refused(self, sent_at: float) -> None:
        self._weigh(is_through=True)
        self._next_ones = [each for each in self._sent if sent_at < each < sent_at + _GROUP_SECONDS][:3]
        self._resting -= 1

    def refused_too(self, sent_at: float) -> None:
        if sent_at in self._next_ones:
            self._weigh(is_through=False)

    def reject(self) -> None:
        self._evidence, self._resting = 0.0, _REST

    def _weigh(self, *, is_through: bool) -> None:
        number, self._next_ones = len(self._next_ones), []
        if number:
            chance, shared = _THROUGH_BY_CHANCE**number, _THROUGH_IF_SHARED**number
            self._evidence += math.log(chance / shared if is_through else (1 - chance) / (1 - shared))
        if self._evidence < _DISPROOF:
            self.reject()
