"""How long to go without a 429 that a faster pace would provoke? Pure."""

import math

# All chosen, and checked together in benchmarks/simulation.
# The quiet time of a new lane, which doubles with each calm cycle. Half: more 429s at first. Twice: learns later.
FIRST_QUIET_SECONDS = 4.0
# The quiet time of a known lane: the longest of three, up to the fourth. Half: more 429s. Twice: notices width later.
_QUIET_SECONDS = 45.0
_QUIET_CALLS = 400
_QUIET_PAUSES = 25
_MOST_QUIET_SECONDS = 240.0
# The quiet time where 429s are frequent anyway, in usual cycles, and at least. Half: more 429s. Twice: noticed later.
_QUIET_CYCLES = 2
_LEAST_QUIET_SECONDS = 8.0
# The quiet time in a lane that is narrower than before, as a part, and at least. Half: more 429s. Twice: back later.
_NARROW_PART = 6
_LEAST_NARROW_SECONDS = 9.0


def quiet_seconds(
    rate: float, pause_seconds: float, usual_calls: float | None, *, is_narrow: bool, calm_cycles: int
) -> float:
    """Give the quiet time: short while the lane is new, and while it is narrower than before.

    `usual_calls` are the calls from one 429 to the next; None where others use the lane too, who would be disturbed.
    """
    full = min(_MOST_QUIET_SECONDS, max(_QUIET_SECONDS, _QUIET_PAUSES * pause_seconds, _QUIET_CALLS / rate))
    if usual_calls is not None:
        if is_narrow:
            full = max(_LEAST_NARROW_SECONDS, full / _NARROW_PART)
        full = min(full, max(_LEAST_QUIET_SECONDS, _QUIET_CYCLES * usual_calls / rate))
    return min(full, FIRST_QUIET_SECONDS * math.exp2(min(calm_cycles, 10)))
