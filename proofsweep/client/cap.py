"""Is it a cap on calls at once that throttles, and not a rate? Pure, the time is an argument.

The two are told apart by what is in flight: 429s of a cap come when many calls are, hardly ever below, and a good part
of the calls beyond is refused; those of a rate come at any number, and most calls in flight beside them go through.
"""

import math
from collections import Counter
from dataclasses import dataclass, field

_LEAST_VOLLEYS = 3
_VOLLEY_SECONDS = 0.5
_PART_REFUSED = 0.2
_MOST_COUNTED = 60
_PROBE_AFTER_SECONDS = 150.0
_PROBE_CALLS = 12


@dataclass(slots=True)
class Cap:
    """What the number of calls in flight tells; a call counts itself.

    Attributes:
        most: the most calls in flight that are let through; infinite while no cap is seen.
    """

    most: float = math.inf
    _admitted: Counter[int] = field(default_factory=Counter)
    _refused: Counter[int] = field(default_factory=Counter)
    _refused_at: float = -math.inf
    _volleys: int = 0

    def limit(self, now: float) -> float:
        """Give the most calls that may be in flight: now and then one beyond the cap, to see whether it stands."""
        return self.most + (self.most < math.inf and now - self._refused_at > _PROBE_AFTER_SECONDS)

    def was_admitted(self, in_flight: int) -> None:
        """Take note of a call that was let through."""
        self._admitted[in_flight] = min(_MOST_COUNTED, self._admitted[in_flight] + 1)
        if in_flight > self.most and self._admitted[in_flight] >= _PROBE_CALLS:
            self.most += 1

    def was_refused(self, in_flight: int, now: float) -> bool:
        """Take note of a 429; say whether a cap explains it, so that the rate does not have to."""
        self._refused[in_flight] += 1
        self._volleys += now - self._refused_at > _VOLLEY_SECONDS
        self._refused_at = now
        if in_flight > self.most:
            self._admitted[in_flight] = 0
            return True
        lowest = min(self._refused)
        if lowest == 1 or self._volleys < _LEAST_VOLLEYS or not self._is_wall(lowest):
            return False
        self.most = lowest - 1
        return True

    def _is_wall(self, lowest: int) -> bool:
        through = sum(count for number, count in self._admitted.items() if number >= lowest)
        return self._refused.total() > _PART_REFUSED * through
