"""The rate that several processes share: found from what the service lets in for all of them, and their 429s. Pure.

While calls are refused, the bucket is empty, and what is let in is the rate. Then all keep a little below it, come
slowly nearer, and grow beyond it if no 429 comes.
"""

import math
from dataclasses import dataclass

# All chosen, and checked together in benchmarks/simulation.
_VOLLEY_SECONDS = 2.5  # 429s so soon after the last ones belong to them
_LONG_SECONDS = 20.0  # a cycle so long shows the rate by its mean; a shorter one shows that the pace is too fast
# The least that a short cycle lowers the pace, the most that one cycle does, and the most after several short ones.
_LEAST_FALL, _FALL, _MOST_FALL = 0.97, 0.95, 0.7
_SHORT_ONES = 3
# The pace after a 429, and at the end of the quiet time, as parts of the rate.
_FIRST_PART, _LAST_PART = 0.98, 1.01
# The quiet time: the longer of both, up to the third; short at first, and in a lane that is narrower than it was.
_QUIET_SECONDS, _QUIET_CALLS, _MOST_QUIET_SECONDS = 45.0, 400.0, 240.0
_FIRST_QUIET_SECONDS, _FIRST_QUIET_CALLS = 10.0, 80.0
_NARROW_SHARE, _NARROW_PART = 0.7, 5.0
# The excess with which growth begins, and how fast it doubles.
_FIRST_EXCESS, _DOUBLING_SECONDS = 0.01, 8.0
_TRIED_SHARE = 0.85  # the pace counts as tried while so much of it is let in


@dataclass(slots=True)
class LaneKeeper:
    """Finds the rate of a shared lane; times are monotonic seconds of one clock."""

    rate: float  # calls per second that the lane is taken to let through
    pace: float = 0.0  # calls per second that all may send together now
    _widest: float = 0.0
    _at: float = -math.inf
    _since: float = 0.0
    _let_in: float = 0.0
    _tried_seconds: float = 0.0
    _short_ones: int = 0
    _calm: int = 0

    def look(self, now: float, let_in: float, *, is_refused: bool) -> float:
        """Take note of calls per second let in, and whether one was refused; return the pace of all together."""
        if self._at == -math.inf:
            self._at = self._since = now
            self.pace = self.rate
        passed, self._at = now - self._at, now
        self._let_in += let_in * passed
        if is_refused and now - self._since > _VOLLEY_SECONDS:
            self._learn(now)
        if let_in > _TRIED_SHARE * self.pace:
            self._tried_seconds += passed
        self.pace = self.rate * self._part()
        return self.pace

    def _learn(self, now: float) -> None:
        seconds = now - self._since
        mean, is_long = self._let_in / seconds, seconds >= _LONG_SECONDS
        self._short_ones = 0 if is_long else self._short_ones + 1
        fall = _MOST_FALL if self._short_ones >= _SHORT_ONES else _FALL
        self.rate = max(fall * self.pace, min(mean, self.pace if is_long else _LEAST_FALL * self.pace))
        self._calm = min(self._calm + 1, 10) if is_long else 0 if fall == _MOST_FALL else min(self._calm, 2)
        if is_long:
            self._widest = max(0.98 * self._widest, self.rate)
        self._since, self._let_in, self._tried_seconds = now, 0.0, 0.0

    def _part(self) -> float:
        quiet = min(_MOST_QUIET_SECONDS, max(_QUIET_SECONDS, _QUIET_CALLS / self.rate))
        if self.rate < _NARROW_SHARE * self._widest:
            quiet /= _NARROW_PART
        first = max(_FIRST_QUIET_SECONDS, _FIRST_QUIET_CALLS / self.rate)
        quiet = min(quiet, first * math.exp2(self._calm))
        if self._tried_seconds <= quiet:
            return _FIRST_PART + (_LAST_PART - _FIRST_PART) * self._tried_seconds / quiet
        doublings = min(30.0, (self._tried_seconds - quiet) / _DOUBLING_SECONDS)
        return _LAST_PART + _FIRST_EXCESS * (math.exp2(doublings) - 1)
