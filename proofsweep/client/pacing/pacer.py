"""How fast to send: learned from counts and 429s alone; the time is an argument (contract, Limits).

The lane is modelled as a token bucket. A 429 says that the bucket is empty. All calls then pause, and the bucket gains
some credit. The calls from one 429 to the next are a cycle. A few cycles show the bucket's rate and size.

Between two 429s the pace follows one target. First it is a little above the rate, until half of the credit is spent.
Then it is about the rate, and rises so slowly that the rest lasts through a quiet time. If the 429 that is then due
does not come, the lane is wider than before, and the pace grows until a 429 comes.
"""

import math
from collections import deque
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from proofsweep.client.pacing.token_bucket import Cycle, TokenBucket, fit

# All chosen, and checked together, not one by one, in benchmarks/simulation: goodput and 429s of many lanes.
# Where a search begins, per second. Half: it takes longer. Twice: narrow lanes refuse more calls at first.
FIRST_RATE = 6.0
# The lowest rate learned. Half or twice changes nothing but how often a lane that is almost shut is tried.
_LEAST_CALLS_PER_SECOND = 0.01
# How fast the pace may double. Half: a search overshoots more at its first 429. Twice: it takes longer.
_DOUBLING_SECONDS = 1.5
# How fast growth doubles when a 429 is overdue: the longer of both. Half: more 429s. Twice: a wider lane is used later.
_REGROWTH_SECONDS = 1.0
_REGROWTH_CALLS = 10
# How late a call may go and still count as sent at the pace. Half: a busy machine counts as idle. Twice: the reverse.
_SLACK_SECONDS = 0.02
# How far above the rate the pace is while credit is spent, as a share. Half: credit is lost. Twice: earlier 429s.
_CATCH_UP_SHARE = 0.1
# The contention margin from which other users of the lane are assumed. Half: one early 429 is enough. Twice: later.
_SHARED_LANE_MARGIN = 0.1
# The quiet time of a new lane, which doubles with each calm cycle. Half: more 429s at first. Twice: learns later.
_FIRST_QUIET_SECONDS = 4.0
# The quiet time of a known lane: the longest of three, up to the fourth. Half: more 429s. Twice: notices width later.
_QUIET_SECONDS = 45.0
_QUIET_CALLS = 400
_QUIET_PAUSES = 25
_MOST_QUIET_SECONDS = 240.0
# Cycles that the fit remembers. Half: size and rate cannot be told apart. Twice: a change is noticed later.
_CYCLES = 5
# A cycle is short below so many pauses. Half: an underestimated bucket grows slowly. Twice: it grows too fast.
_SHORT_CYCLE_PAUSES = 4
# Calls that make a cycle meaningful. Half: one call more means quite another rate. Twice: slow lanes learn late.
_MEANINGFUL_CALLS = 6
# The smallest new size of the bucket, as a share of the old one. Half: one odd cycle loses it. Twice: it never shrinks.
_MOST_SHRINKING_SHARE = 0.6
# Bounds the memory of a cycle; beyond it every second mark goes. Half: less exact. Twice: nothing more is known.
_MOST_MARKS = 96


class RateChange(StrEnum):
    """What a 429 changed in what is known of the lane."""

    FOUND = "found"
    THE_SAME = "the same"
    NARROWER = "narrower"
    WIDER = "wider"


@dataclass(frozen=True, slots=True)
class Sent:
    """A call that was sent: at what monotonic time, and as which one since the last 429."""

    at: float
    number: int


class Pacer:
    """Paces the calls of one lane; times are seconds of one monotonic clock.

    Attributes:
        pace: calls per second that may go now.
        bucket: the model of the lane.
        learned_rate: calls per second that the lane lets through, by this run or an earlier one; None until a 429.
        rate_change: what the last 429 changed.
    """

    def __init__(self, known_rate: float | None = None, first_rate: float = FIRST_RATE) -> None:
        """Begin a little below the known rate; without one, search for it from the first rate."""
        self.learned_rate = known_rate
        self.rate_change: RateChange | None = None
        self.pace = first_rate if known_rate is None else 0.95 * known_rate
        self.bucket = TokenBucket(self.pace, max(1.0, self.pace))
        self._cycles: deque[Cycle] = deque(maxlen=_CYCLES)
        self._settled = 0 if known_rate is None else 3
        self._widest = 0.0
        self._contention_margin = 0.0
        self._pause_seconds = 1.0
        self._stopped_at = self._opens_at = self._next_at = -math.inf
        self._is_shut = False
        self._last: Sent | None = None
        self._marks: list[Sent] = []
        self._marked_pace = self._held_seconds = self._doublings = 0.0
        self._credit = self._level = self.bucket.burst

    @property
    def next_at(self) -> float:
        """The time from which the next call may go."""
        return max(self._opens_at, self._next_at)

    def send(self, now: float) -> Sent:
        """Take note that a call goes now; it must not go before `next_at`."""
        was_held_back = now - self.next_at < _SLACK_SECONDS
        last = self._last or Sent(now, 0)
        passed = now - last.at
        self._level = min(self.bucket.burst, self._level + self.bucket.rate * passed) - 1.0
        if was_held_back:  # a late call shows nothing about a faster pace
            elapsed = min(passed, max(1.0, 1.0 / self.pace))
            self._held_seconds += elapsed
            self.pace = min(self._target_pace(elapsed), self.pace * math.exp2(elapsed / _DOUBLING_SECONDS))
        self._mark(last, now, was_held_back)
        self._next_at = max(self._next_at, now - _SLACK_SECONDS) + 1.0 / self.pace
        self._last = Sent(now, last.number + 1)
        return self._last

    def pause(self, now: float, pause_seconds: float) -> None:
        """Hold all calls back for so long, and learn nothing from it."""
        self._opens_at = max(self._opens_at, now + pause_seconds)

    def throttled(self, sent: Sent, now: float, pause_seconds: float) -> None:
        """Take note of a 429 to a call, and pause.

        Calls that were in flight when the first 429 came are of the same burst of 429s: they only lengthen the pause.
        """
        self.pause(now, pause_seconds)
        if sent.at <= self._stopped_at:
            return
        cycle = self._cycle_until(sent)
        if cycle.calls:
            self._learn(cycle)
        elif not self._is_shut:
            self._settle(is_new=False, is_wider=False, earliness=1.0)
        self._stopped_at = now
        self._pause_seconds = now + pause_seconds - sent.at
        self._is_shut = not cycle.calls
        self.pace = self.bucket.rate
        if self._is_shut:  # not narrow: begin again slowly
            self.pace = min(self.pace, 1.0 / max(1.0, pause_seconds))
        self._begin(sent)

    @property
    def _is_searching(self) -> bool:
        return self.learned_rate is None

    @property
    def _is_shared(self) -> bool:
        """Say whether others seem to use the lane too: cycles keep ending early."""
        return self._contention_margin > _SHARED_LANE_MARGIN

    def _begin(self, emptied: Sent) -> None:
        """Begin a cycle with the call that found the bucket empty."""
        self._last = Sent(emptied.at, 0)
        self._marks = []
        self._marked_pace = self._held_seconds = self._level = self._doublings = 0.0
        self._credit = min(self.bucket.burst, self.bucket.rate * self._pause_seconds)

    def _target_pace(self, elapsed: float) -> float:
        """Give the pace for now, `elapsed` seconds after the last time."""
        if self._is_searching:
            return math.inf
        rate, quiet = self.bucket.rate, self._quiet_seconds()
        if self._held_seconds > quiet:
            self._doublings = min(30.0, self._doublings + elapsed / self._regrowth_seconds())
            return self._spending() * (1 + 0.02 * math.exp2(self._doublings))
        if self._level > self._credit / 2 + 1:
            return rate * (1 + _CATCH_UP_SHARE - self._contention_margin)
        lowest = rate * (1 - self._contention_margin)
        return lowest + (self._spending() - lowest) * self._held_seconds / quiet

    def _spending(self) -> float:
        """Give the pace that spends half of the credit in the quiet time."""
        return self.bucket.rate + min(_CATCH_UP_SHARE * self.bucket.rate, 0.5 * self._credit / self._quiet_seconds())

    def _regrowth_seconds(self) -> float:
        """Give the time in which the excess over the known pace doubles: longer where others use the lane too."""
        return max(_REGROWTH_SECONDS, _REGROWTH_CALLS / self.pace) * (1 + 20 * max(0.0, self._contention_margin))

    def _quiet_seconds(self) -> float:
        """Give the time without a provoked 429: short while the lane is new, and while it is narrower than before."""
        rate = self.bucket.rate
        full = min(_MOST_QUIET_SECONDS, max(_QUIET_SECONDS, _QUIET_PAUSES * self._pause_seconds, _QUIET_CALLS / rate))
        if rate < 0.7 * self._widest and not self._is_shared:
            full = max(9.0, full / 5)
        return min(full, _FIRST_QUIET_SECONDS * math.exp2(min(self._settled, 10)))

    def _mark(self, last: Sent, now: float, was_held_back: bool) -> None:
        """Keep where the pace changed, so that a few stretches describe a cycle."""
        if not self._marked_pace or not was_held_back:
            self._marks += [last, Sent(now, last.number)]
        elif abs(self.pace / self._marked_pace - 1) > 0.04:  # noqa: PLR2004 - smaller steps show no more
            self._marks.append(last)
        else:
            return
        self._marked_pace = self.pace
        if len(self._marks) > _MOST_MARKS:
            self._marks[2:] = self._marks[2::2]

    def _learn(self, cycle: Cycle) -> None:
        """Learn from a cycle, and find out whether the lane has changed."""
        before, is_first = self.bucket, self._is_searching
        earliness = 1.0 - 2.0 * self._held_seconds / self._quiet_seconds()
        is_meaningful = is_first or cycle.calls >= _MEANINGFUL_CALLS  # else one call more means another rate
        is_narrower = not is_first and self._level > 0.3 * cycle.calls + (2 if is_meaningful else 4)
        is_wider = cycle.rate(before.burst) / before.rate > 1.15 + 2 * cycle.uncertainty
        if is_narrower or is_wider:
            self._cycles.clear()
        self._cycles.append(cycle)
        likely = self._likely_burst(cycle, is_wider=is_wider, was_early=earliness > 0)
        fitted = fit(self._cycles, likely, 1.0 if is_first else _MOST_SHRINKING_SHARE * before.burst)
        least = _LEAST_CALLS_PER_SECOND if is_meaningful else before.rate / 2
        self.bucket = replace(fitted, rate=max(least, fitted.rate * (1 if is_first else self._surplus(cycle))))
        if self._settled > 1:
            self._widest = max(0.98 * self._widest, fitted.rate)
        gave_more = is_wider or -self._level > 0.25 * before.burst + 3
        self._settle(is_new=is_narrower or is_first, is_wider=gave_more, earliness=earliness)
        self.rate_change = _rate_change(is_first=is_first, is_narrower=is_narrower, is_wider=is_wider)
        self.learned_rate = self.bucket.rate

    def _surplus(self, cycle: Cycle) -> float:
        """Give a factor for the rate after a cycle that let more through than the model has.

        A larger bucket would explain cycles of one kind as well, and then the rate would never be found.
        """
        return 1 + 2 * min(0.05, max(0.0, -self._level - 3.0) / cycle.calls)

    def _settle(self, *, is_new: bool, is_wider: bool, earliness: float) -> None:
        """Lengthen the quiet time after regular cycles, and widen the contention margin after cycles that end early."""
        is_unsettled = is_wider and not self._is_shared
        self._settled = 0 if is_new else min(self._settled, 2) if is_unsettled else self._settled + 1
        if earliness < -1:  # overdue: the lane gives more than the pace asks for
            self._contention_margin = max(-0.014, min(0.9 * self._contention_margin, self._contention_margin - 0.01))
        elif earliness <= 0:
            self._contention_margin *= 0.9
        elif self._settled > 2:  # noqa: PLR2004 - before, the quiet time itself is short
            self._contention_margin = min(0.5, self._contention_margin + 0.04 * earliness)

    def _likely_burst(self, cycle: Cycle, *, is_wider: bool, was_early: bool) -> float:
        """Guess the size of the bucket: as before, or smaller if the 429 came late, or larger if it came early."""
        burst, rate = self.bucket.burst, self.bucket.rate
        if self._is_searching or is_wider:
            return max(self.pace / 4, 0.0 if self._is_searching else burst)
        if self.pace > 1.07 * self._spending():
            return min(burst, max(0.85 * burst, 0.3 * rate))
        if was_early and cycle.calls > _CYCLES:
            growth = 1.5 if self._held_seconds < _SHORT_CYCLE_PAUSES * self._pause_seconds else 1.15
            return max(burst, min(growth * burst, 1.5 * rate))
        return burst

    def _cycle_until(self, refused: Sent) -> Cycle:
        marks = [mark for mark in self._marks if mark.at < refused.at]
        marks.append(Sent(refused.at, max(0, refused.number - 1)))
        stretches = [(after.at - before.at, after.number - before.number) for before, after in pairwise(marks)]
        return Cycle(stretches=[each for each in stretches if any(each)], begins_full=self._stopped_at == -math.inf)


def _rate_change(*, is_first: bool, is_narrower: bool, is_wider: bool) -> RateChange:
    if is_first:
        return RateChange.FOUND
    return RateChange.NARROWER if is_narrower else RateChange.WIDER if is_wider else RateChange.THE_SAME
