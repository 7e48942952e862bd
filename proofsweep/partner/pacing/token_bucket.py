"""The model of a lane: the token bucket that best explains what the lane let through; pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from proofsweep.partner.pacing.cycles import Cycle

# Chosen: the weight of the likely size.
_LIKELY_BURST_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """Gains `rate` tokens per second, holds at most `burst`, and gives one to each call that it lets through."""

    rate: float
    burst: float


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
    """Return a figure of how far the cycles disagree, and the bucket with their common rate."""
    rates = [(math.log(cycle.rate(burst)), cycle.uncertainty**-2) for cycle in cycles]
    mean = sum(rate * weight for rate, weight in rates) / sum(weight for _, weight in rates)
    disagreement = sum(weight * (rate - mean) ** 2 for rate, weight in rates)
    unlikely = math.log(burst / max(1.0, likely_burst)) ** 2
    return disagreement + _LIKELY_BURST_WEIGHT * unlikely, TokenBucket(math.exp(mean), burst)
