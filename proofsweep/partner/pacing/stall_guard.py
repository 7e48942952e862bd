"""Whether the way to the service stands still: calls in flight, and no answer for long. Pure."""

import math
from dataclasses import dataclass

# All chosen, and checked together in benchmarks/simulation.
_LEAST_IN_FLIGHT = 4  # calls in flight from which silence counts
_FIRST_GAP_SECONDS = 1.0  # the silence before any gap is known
# How often and how much the usual gap grows or shrinks: only one gap in 45 is longer. More often: stalls are usual.
_GROWTH = 1.25
_SHRINKING = 0.995
_GAPS, _LEAST_SECONDS = 1.5, 0.1  # a stall is so many times the usual gap, and so many seconds, at least
_LONGEST_SECONDS = 10.0  # a longer silence is no stall: calls may hang, and must not hold back others


@dataclass(slots=True)
class StallGuard:
    """Watches the time between two answers."""

    _usual_gap: float = _FIRST_GAP_SECONDS
    _quiet_since: float = -math.inf

    def began(self, now: float) -> None:
        self._quiet_since = now

    def ended(self, now: float) -> None:
        self._usual_gap *= _GROWTH if now - self._quiet_since > self._usual_gap else _SHRINKING
        self._quiet_since = now

    def is_stalled(self, now: float, in_flight: int) -> bool:
        """Whether no more calls should go until one of those in flight is over."""
        silence = now - self._quiet_since
        is_unusual = _GAPS * self._usual_gap + _LEAST_SECONDS < silence < _LONGEST_SECONDS
        return in_flight >= _LEAST_IN_FLIGHT and is_unusual
