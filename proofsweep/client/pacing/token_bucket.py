"""What a lane seems to be: the token bucket that best explains what it let through; pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_BISECTIONS = 12
_INSTANT = 0.01
_TRUST_IN_BURST = 0.5


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """It gains `rate` tokens per second, holds at most `burst`, and gives one to each call that it lets through."""

    rate: float
    burst: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """What was let through from one 429, which found the bucket empty, to the next, which did so again.

    Attributes:
        stretches: seconds, and calls let through in them, in order; the pace is even within each.
        begins_full: no 429 came before it: the bucket was full, as after a long rest.
    """

    stretches: Sequence[tuple[float, int]]
    begins_full: bool = False

    @property
    def calls(self) -> int:
        """Calls let through."""
        return sum(calls for _, calls in self.stretches)

    @property
    def doubt(self) -> float:
        """How far the rate that it tells may be off, as a part of it: by a token or two, and by the clock."""
        return 0.005 + 2.0 / self.calls

    def rate(self, burst: float) -> float:
        """Give the least rate at which a bucket of this size could have given what it gave."""
        low = 0.5 * self.calls / max(_INSTANT, sum(seconds for seconds, _ in self.stretches))
        high = 4 * self.calls / max(_INSTANT, sum(seconds for seconds, calls in self.stretches if calls))
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

    To each size of bucket every cycle tells a rate; the size is right at which they agree. Where they agree at any,
    as cycles that are all alike do, the likely size is taken. None smaller than the least is.
    """
    best, factor = TokenBucket(0.0, max(1.0, likely_burst)), 1.35
    for points in (5, 2, 2):
        sizes = {max(1.0, least_burst, best.burst * factor**i) for i in range(-points, points + 1)}
        best = min((_agreed(cycles, size, likely_burst) for size in sorted(sizes)), key=lambda found: found[0])[1]
        factor **= 0.4
    return best


def _agreed(cycles: Sequence[Cycle], burst: float, likely_burst: float) -> tuple[float, TokenBucket]:
    """Give the rate that the cycles tell together, behind a figure of how far they disagree."""
    told = [(math.log(cycle.rate(burst)), cycle.doubt**-2) for cycle in cycles]
    mean = sum(rate * weight for rate, weight in told) / sum(weight for _, weight in told)
    discord = sum(weight * (rate - mean) ** 2 for rate, weight in told)
    unlikely = math.log(burst / max(1.0, likely_burst)) ** 2
    return discord + _TRUST_IN_BURST * unlikely, TokenBucket(math.exp(mean), burst)
