"""Play a catalog of any length: at most some thousand items, spread over it, and the rest in proportion."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from proofsweep.verify.rehearsal.play import Night, Played, play

# The most items that are played. Measured with 60,000 and 100,000 items: the end is off by 0.3 % where a lane or a full
# link limits a night, and by 6 % where both do and the number of uploads is still being learned. A million rows then
# take some ten seconds of CPU time. Half: 9 % in the last case.
MOST_PLAYED = 20_000
# A night of so few items is played three times, and the middle one counts: chance moves its end by up to 4 %, where
# calls at once are limited. Longer ones even chance out.
_FEW = 1_000
_TIMES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A leg as it goes over the whole catalog: its rows, and the seconds from its first item on."""

    rows: int
    seconds: float
    played: Played
    calls: int
    refused: int


def play_whole(night: Night, most: int = MOST_PLAYED) -> Whole:
    """Play a leg; the items of a long one stand for those beside them in the catalog.

    A leg takes a fixed time, for the search of the rate and for the last items, and a time for each item. Two plays,
    of `most` items and of half as many, each spread evenly over the catalog, tell the two apart.
    """
    items = len(night.sizes)
    if items <= most:
        nights = [replace(night, seed=night.seed + time) for time in range(_TIMES if items <= _FEW else 1)]
        return _exact(sorted(map(play, nights), key=_end)[len(nights) // 2])
    if night.closes_after_seconds < math.inf:
        head = play(replace(night, sizes=night.sizes[:most]))
        if len(head.begun) < most:
            return _exact(head)
    open_night = replace(night, closes_after_seconds=math.inf)
    more, fewer = (play(replace(open_night, sizes=spread(night.sizes, count))) for count in (most, most // 2))
    each_seconds = max(0.0, more.seconds - fewer.seconds) / (most - most // 2)
    fixed_seconds = max(0.0, more.seconds - most * each_seconds)
    factor = items / most
    rows, seconds = items, fixed_seconds + items * each_seconds
    if night.closes_after_seconds < seconds:
        rows, seconds = _until_closing(night, more, fixed_seconds, factor)
    share = rows / most
    return Whole(
        rows=rows,
        seconds=seconds,
        played=more,
        calls=round(more.calls * share),
        refused=round(more.refused * share),
    )


def spread(sizes: Sequence[int], count: int) -> Sequence[int]:
    """Pick so many sizes, evenly over the catalog."""
    return [sizes[number * len(sizes) // count] for number in range(count)]


def _end(played: Played) -> tuple[float, int]:
    """Order plays by their ends; where a window is the end, by their rows."""
    return played.seconds, -len(played.begun)


def _exact(played: Played) -> Whole:
    return Whole(
        rows=len(played.begun),
        seconds=played.seconds,
        played=played,
        calls=played.calls,
        refused=played.refused,
    )


def _until_closing(night: Night, played: Played, fixed_seconds: float, factor: float) -> tuple[int, float]:
    """Return how many rows begin before the window closes, and when the last of them is finished.

    Each item that is finished by then stands for several; those in flight are as many in the whole catalog.
    """
    closes = night.closes_after_seconds
    at = min(closes, fixed_seconds) + max(0.0, closes - fixed_seconds) / factor
    finished, begun = bisect_right(played.finished, at), bisect_right(played.begun, at)
    drain_seconds = played.seconds - played.begun[-1]
    return min(len(night.sizes), round(finished * factor) + begun - finished), closes + drain_seconds
