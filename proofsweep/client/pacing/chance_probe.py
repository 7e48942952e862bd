"""Are calls refused by chance, at any pace? A short burst after a pause tells. Pure: the time is an argument.

Where others use the lane too, the bucket is nearly empty when a call is refused, and holds little more than one's own
share after the pause. Where chance refuses calls, it is full, and a burst goes through as often as any other calls.
Several bursts decide, by a sequential probability ratio test (Wald).
"""

import math
from dataclasses import dataclass

# All chosen, and checked together in benchmarks/simulation.
# The time from one call of a burst to the next. Half: more calls are refused together. Twice: the bucket refills.
BURST_GAP_SECONDS = 0.02
# Calls of a burst: so many times those that are expected to go through, and more. Half: others leave as many. Twice:
# chance refuses most bursts too.
_TIMES_EXPECTED = 2
_MORE_CALLS = 10
# How often a burst goes through where others use the lane. Half: luck is proof. Twice: chance is found late.
_THROUGH_IF_SHARED = 0.1
# The evidence that is proof, and that is disproof, as logarithms of how much likelier chance is. Half: users of one
# lane take each other for chance. Twice: chance is found late.
_PROOF = 5.0
_DISPROOF = -3.0
# 429s until bursts are sent again. Half: more calls of users are refused. Twice: chance is found late.
_REST = 20
# Bursts are sent only while a 429 follows on so many calls. More: users of one lane disturb each other. Fewer: so many
# are not refused by mere chance.
_LEAST_CALLS, _MOST_CALLS = 14.0, 30.0
# Calls from one 429 to the next before any were counted, and the weight of one cycle. Less and more: a few early 429s
# of many clients look frequent.
_FIRST_CALLS = 80.0
_CYCLE_WEIGHT = 0.05
# A burst that took longer shows nothing. Half: a busy machine learns nothing. Twice: the bucket refills meanwhile.
_LONGEST_BURST_SECONDS = 1.5


@dataclass(slots=True)
class ChanceProbe:
    """Sends bursts and weighs what they show.

    Attributes:
        is_chance: chance seems to refuse the calls.
        mean_calls: calls from one 429 to the next.
    """

    is_chance: bool = False
    mean_calls: float = _FIRST_CALLS
    _evidence: float = 0.0
    _resting: int = 0
    _size: int = 0
    _sent: int = 0
    _began_at: float = 0.0
    _seconds: float = 0.0

    @property
    def is_open(self) -> bool:
        """Say whether the next call is of a burst."""
        return self._sent < self._size

    def begin(self, expected_calls: float) -> None:
        """Begin a burst after a pause, if one is worth it; so many calls would go through where others use the lane."""
        size = math.ceil(_TIMES_EXPECTED * expected_calls) + _MORE_CALLS
        if not _LEAST_CALLS < self.mean_calls < _MOST_CALLS or size > self.mean_calls:
            return
        self._resting -= 1
        if self._resting < 0:
            self._resting, self._size, self._sent = 0, size, 0

    def sent(self, now: float) -> None:
        """Take note of a call of the burst."""
        if not self._sent:
            self._began_at = now
        self._sent += 1
        self._seconds = now - self._began_at

    def refused(self, calls: int) -> int:
        """Take note of a 429 after so many calls, and give the size of the burst that they began with, or 0."""
        size, self._size = self._size, 0
        through_by_chance = (1.0 - 1.0 / max(2.0, self.mean_calls)) ** size
        self.mean_calls += _CYCLE_WEIGHT * (calls - self.mean_calls)
        if not size or self._seconds > _LONGEST_BURST_SECONDS:
            return 0
        if calls >= size:
            self._evidence += math.log(through_by_chance / _THROUGH_IF_SHARED)
        else:
            self._evidence += math.log((1.0 - through_by_chance) / (1.0 - _THROUGH_IF_SHARED))
        self._decide()
        return size

    def reject(self) -> None:
        """Take note that it is no chance; the next burst comes later."""
        self.is_chance, self._evidence, self._resting = False, 0.0, _REST

    def _decide(self) -> None:
        if self._evidence < _DISPROOF:
            self.reject()
        elif self._evidence > _PROOF:
            self.is_chance, self._evidence = True, _PROOF
