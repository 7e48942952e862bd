"""The model of a lane: the token bucket that best explains what the lane let through; pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Steps of the search for a rate, which halve its error. Half: off by some percent. Twice: exact beyond all use.
_BISECTIONS = 12
# The shortest cycle, so that calls at one instant have a finite rate. Half or twice changes such cycles only.
_INSTANT_SECONDS = 0.01
# Chosen: the weight of the likely size. Half: cycles of one kind give wild sizes. Twice: a new size is learned late.
_LIKELY_BURST_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """Gains `rate` tokens per second, holds at most `burst`, and gives one to each call that it lets through."""

    rate: float
    burst: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """What was let through between two 429s; each of them shows that the bucket was empty.

    Attributes:
        stretches: seconds, and calls let through in them, in order; the pace is even within each.
        begins_full: no 429 came before it, so the bucket was full.
    """

    stretches: Sequence[tuple[float, int]]
    begins_full: bool = False

    @property
    def calls(self) -> int:
        """Calls let through."""
        return sum(calls for _, calls in self.stretches)

    @property
    def uncertainty(self) -> float:
        """How far the rate may be off, as a share of it: by a token or two, and by the clock."""
        return 0.005 + 2.0 / self.calls

    def rate(self, burst: float) -> float:
        """Give the lowest rate at which a bucket of this size could have let so many calls through."""
        low = 0.5 * self.calls / max(_INSTANT_SECONDS, sum(seconds for seconds, _ in self.stretches))
        high = 4 * self.calls / max(_INSTANT_SECONDS, sum(seconds for seconds, calls in self.stretches if calls))
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


def fit(cycles: Sequence[Cycle], likely_burst: float, least_burst: float = 1.0) -> TokenBucket:
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
    """Give a figure of how far the cycles disagree, and the bucket with their common rate."""
    rates = [(math.log(cycle.rate(burst)), cycle.uncertainty**-2) for cycle in cycles]
    mean = sum(rate * weight for rate, weight in rates) / sum(weight for _, weight in rates)
    disagreement = sum(weight * (rate - mean) ** 2 for rate, weight in rates)
    unlikely = math.log(burst / max(1.0, likely_burst)) ** 2
    return disagreement + _LIKELY_BURST_WEIGHT * unlikely, TokenBucket(math.exp(mean), burst)
