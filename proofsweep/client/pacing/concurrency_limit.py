"""Is it a cap on calls at once that throttles, and not a rate? Pure, the time is an argument.

The two are told apart by what is in flight: 429s of a cap come when many calls are, hardly ever below, and a good part
of the calls beyond is refused; those of a rate come at any number, and most calls in flight beside them go through.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, field

_LEAST_VOLLEYS = 3
_LEAST_CAP = 2
_VOLLEY_SECONDS = 0.5
_FADING = 0.9
_FADED = 0.3
_PART_REFUSED = 0.2
_PROBE_AFTER_SECONDS = 150.0
_PROBE_CALLS = 40


@dataclass(slots=True)
class ConcurrencyLimit:
    """What the number of calls in flight tells; a call counts itself.

    Attributes:
        most: the most calls in flight that are let through; infinite while no cap is seen.
    """

    most: float = math.inf
    _admitted: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    _refused: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    _refused_at: float = -math.inf
    _volleys: int = 0

    def limit(self, now: float) -> float:
        """Give the most calls that may be in flight: now and then one beyond the cap, to see whether it stands."""
        return self.most + (self.most < math.inf and now - self._refused_at > _PROBE_AFTER_SECONDS)

    def was_admitted(self, in_flight: int) -> None:
        """Take note of a call that was let through."""
        self._admitted[in_flight] += 1
        if in_flight > self.most and self._admitted[in_flight] >= _PROBE_CALLS:
            self.most += 1

    def was_refused(self, in_flight: int, now: float) -> bool:
        """Take note of a 429; say whether a cap explains it, so that the rate does not have to."""
        self._fade()
        self._refused[in_flight] += 1
        self._volleys += now - self._refused_at > _VOLLEY_SECONDS
        self._refused_at = now
        if in_flight > self.most:
            self._admitted[in_flight] = 0
            return True
        lowest = min(self._refused)
        if lowest <= _LEAST_CAP:  # a cap so low is no cap: everything would be refused now and then
            self.most = math.inf
        elif self._volleys >= _LEAST_VOLLEYS and self._is_wall(lowest):
            self.most = lowest - 1
            return True
        return False

    def _is_wall(self, lowest: int) -> bool:
        through = sum(count for number, count in self._admitted.items() if number >= lowest)
        return sum(self._refused.values()) > _PART_REFUSED * through

    def _fade(self) -> None:
        """Forget by and by, with each 429, what was before."""
        for number in self._admitted:
            self._admitted[number] *= _FADING
        for number in list(self._refused):
            self._refused[number] *= _FADING
            if self._refused[number] < _FADED:
                del self._refused[number]
