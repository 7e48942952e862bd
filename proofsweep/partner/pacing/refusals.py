"""Which 429s show that the bucket was empty? Pure.

A single 429 may have another cause: a neighbour, one node of several, chance. It is a hint. Several that came after
about the same number of calls are proof, because chance spreads.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from proofsweep.partner.pacing.cycles import Cycle, joined

# All chosen, and checked together in benchmarks/simulation.
# 429s that can agree. Two: chance often agrees.
_FEWEST_AGREEING = 3
# How far their calls may differ, as calls and as a share.
_CALLS_DIFFER = 6.0
_CALLS_DIFFER_SHARE = 0.2
# How many times likelier than chance is proof.
_PROOF = 300.0
# Calls between two 429s, before any were counted, and at least.
_USUAL_CALLS = 300.0
_LEAST_USUAL_CALLS = 5.0
# Chance may refuse one of so many calls, unless 429s are rarer than this.
_CHANCE_CALLS = 25.0
_RARE_CALLS = 150.0
# The weight of one cycle in what is usual.
_CYCLE_WEIGHT = 0.2
# Cycles that are remembered.
_MOST_CYCLES = 64


@dataclass(slots=True)
class Refusals:
    """The cycles since something was last learned; each ended with a 429 that may be a mere hint."""

    _usual: float = _USUAL_CALLS
    _calm: int = 0
    _cycles: deque[Cycle] = field(default_factory=lambda: deque(maxlen=_MOST_CYCLES))

    def add(self, cycle: Cycle) -> None:
        """Remember a cycle."""
        self._cycles.append(cycle)

    @property
    def usual_calls(self) -> float:
        """Calls from one 429 to the next, while the pace does not grow."""
        return max(_LEAST_USUAL_CALLS, self._usual, self._calm)

    def sent(self) -> None:
        """Take note of a call at a pace that does not grow."""
        self._calm += 1

    def count(self) -> None:
        """Take note of a 429 that no growth has provoked."""
        self._usual += _CYCLE_WEIGHT * (self._calm - self._usual)
        self._calm = 0

    def forget(self) -> None:
        """Take note that something was learned from the cycles."""
        self._cycles.clear()

    def whole(self) -> Cycle:
        """Return all cycles as one; hints did not end it."""
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
            if any(calls) and chance * _PROOF < 1.0:
                return cycles[-number:]
        return ()


# All chosen, and checked together in benchmarks/simulation.
# The quiet time of a new lane, which doubles with each calm cycle.
FIRST_QUIET_SECONDS = 4.0
# The quiet time of a known lane: the longest of three, up to the fourth.
_QUIET_SECONDS = 45.0
_QUIET_CALLS = 400
_QUIET_PAUSES = 25
_MOST_QUIET_SECONDS = 240.0
# The quiet time where 429s are frequent anyway, in usual cycles, and at least.
_QUIET_CYCLES = 2
_LEAST_QUIET_SECONDS = 8.0
# The quiet time in a lane that is narrower than before, as a part, and at least.
_NARROW_PART = 6
_LEAST_NARROW_SECONDS = 9.0


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
