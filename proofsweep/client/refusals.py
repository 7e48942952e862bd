"""What 429s show: that the bucket was empty, that others use the lane too, or chance. Pure.

A single 429 is a hint. Several that came after about the same number of calls are proof of an empty bucket, because
chance spreads. Other users of the lane, and refusals at random, look alike to one client. So a small share of 429s is
accepted without a slower pace, and a larger one is answered with a slower pace, but never with one that is a small part
of the rate.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from proofsweep.client.lane_model import Cycle, joined

# All chosen, and checked together in benchmarks/simulation.
_FEWEST_AGREEING = 3  # 429s that can agree. Two: chance often agrees
_CALLS_DIFFER, _CALLS_DIFFER_SHARE = 6.0, 0.2  # how far their calls may differ, as calls and as a share
_CYCLES_PROOF = 300.0  # how many times likelier than chance is proof
_USUAL_CALLS = 300.0  # calls between two 429s, before any were counted
_LEAST_USUAL_CALLS = 5.0  # and at least
_CHANCE_CALLS = 25.0  # chance may refuse one of so many calls
_RARE_CALLS = 150.0  # unless 429s are rarer than this
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
        """Calls from one 429 to the next, while the pace does not grow."""
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


FIRST_QUIET_SECONDS = 4.0  # the quiet time of a new lane, which doubles with each calm cycle
# The quiet time of a known lane: the longest of three, up to the fourth.
_QUIET_SECONDS = 45.0
_QUIET_CALLS = 400
_QUIET_PAUSES = 25
_MOST_QUIET_SECONDS = 240.0
_QUIET_CYCLES = 2  # the quiet time where 429s are frequent anyway, in usual cycles
_LEAST_QUIET_SECONDS = 8.0  # and at least
_NARROW_PART = 6  # the quiet time in a lane that is narrower than before, as a part
_LEAST_NARROW_SECONDS = 9.0  # and at least


def quiet_seconds(
    rate: float, pause_seconds: float, usual_calls: float | None, *, is_narrow: bool, calm_cycles: int
) -> float:
    """Return the quiet time: short while the lane is new, and while it is narrower than before.

    `usual_calls` are the calls from one 429 to the next; None where others use the lane too, who would be disturbed.
    """
    full = min(_MOST_QUIET_SECONDS, max(_QUIET_SECONDS, _QUIET_PAUSES * pause_seconds, _QUIET_CALLS / rate))
    if usual_calls is not None:
        if is_narrow:
            full = max(_LEAST_NARROW_SECONDS, full / _NARROW_PART)
        full = min(full, max(_LEAST_QUIET_SECONDS, _QUIET_CYCLES * usual_calls / rate))
    return min(full, FIRST_QUIET_SECONDS * math.exp2(min(calm_cycles, 10)))


_STEP = 0.03  # how much one 429 lowers the pace, as its logarithm
# Calls that raise it again by as much: the accepted share of 429s is one of so many. More: 1 % at random costs half of
# a lane. Fewer: many clients are refused more often.
_CALLS_PER_REFUSAL = 80
_FREE_REFUSALS = 6  # 429s without effect on the pace at first, and again after so many calls
_SHORT_CALLS = 8  # two cycles of so few calls together lower the pace more
_SHORT_FACTOR = 6  # up to so many times
# A 429 to the very first call after a pause lowers the pace more, so many times, until so many calls went through in a
# row: others took the token that the service has announced.
_NONE_FACTOR = 8
_CALM_CALLS = 40
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
        """Whether a share of 429s is accepted because chance refuses them."""
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
        """Take note of a 429 after so many calls; infinite if a faster pace has provoked it."""
        shortness = max(0.0, 1.0 - (calls + self._calls_before) / _SHORT_CALLS)
        self._is_new = self._is_new and calls < _CALM_CALLS
        step = _STEP
        if not self.is_chance:
            step *= 1.0 + _SHORT_FACTOR * shortness + _NONE_FACTOR * (self._is_new and not calls)
        self._calls_before = calls
        self._balance = min(_MOST, self._balance + step)


# The time between two calls of a group: a part of the time until a 429 comes, so that it stops none of them, and at
# most.
_GAPS = 4
_MOST_GAP_SECONDS = 0.008
_LONGEST_SECONDS = 0.05  # a group that took longer shows nothing
# Calls of a group: those of a second, within these.
_FEWEST_CALLS, _MOST_CALLS = 2, 4
# How often each next call goes through after a 429: by chance, and if others use the lane. Less apart: both are found
# later. Further apart: they are mistaken for each other.
_THROUGH_BY_CHANCE = 0.96
_THROUGH_IF_SHARED = 0.6
# The evidence that is proof, and that is disproof, as logarithms of how much likelier chance is.
_PROOF, _DISPROOF = 4.0, -2.5
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
        """Take note that a call goes, and give the time until the next one may; on average it is the usual one."""
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
        """Take note of a 429, the first since the last pause."""
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
        """Begin again after some time: it is no chance."""
        self._evidence, self._resting, self._calls, self._refusals = 0.0, _REST, 0, 0

    def _weigh(self, *, is_through: bool) -> None:
        number, self._next_ones = len(self._next_ones), []
        if number:
            chance, shared = _THROUGH_BY_CHANCE**number, _THROUGH_IF_SHARED**number
            self._evidence += math.log(chance / shared if is_through else (1 - chance) / (1 - shared))
        if self._evidence < _DISPROOF:
            self.reject()
