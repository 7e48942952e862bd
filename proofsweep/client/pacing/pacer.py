"""How fast to send: learned from counts and 429s, without a clock or chance of its own (contract, Limits).

A lane is taken for a bucket of tokens. A 429 says that it is empty; then all pause, as told, and the bucket gains some
credit. From there to the next 429 calls are counted, and a few such cycles tell its rate and its size (`bucket.py`).

Between two 429s the pace follows one course: at first a little fast, until half of the credit is spent; then about the
rate, rising by so little that the rest lasts through a quiet time; and if the 429 that is then due does not come, the
lane has widened, and the pace grows until it does.
"""

import math
from collections import deque
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from proofsweep.client.pacing.token_bucket import Cycle, TokenBucket, fit

FIRST_RATE = 6.0
_LEAST_RATE = 0.01
_DOUBLING_SECONDS = 1.5
_REGROWTH_SECONDS = 1.0
_REGROWTH_CALLS = 10
_SLACK_SECONDS = 0.02
_CATCHING_UP = 0.1
_CONTENTION_MARGIN = 0.1
_FIRST_QUIET_SECONDS = 4.0
_QUIET_SECONDS = 45.0
_MOST_QUIET_SECONDS = 240.0
_QUIET_CALLS = 400
_QUIET_PAUSES = 25
_CYCLES = 5
_SHORT_CYCLE_PAUSES = 4
_TELLING_CALLS = 6
_MOST_SHRINKING = 0.6
_MOST_MARKS = 96


class RateChange(StrEnum):
    """What a 429 taught of the lane."""

    FOUND = "found"
    THE_SAME = "the same"
    NARROWER = "narrower"
    WIDER = "wider"


@dataclass(frozen=True, slots=True)
class Sent:
    """A call that has gone: when, in seconds of a monotonic clock, and as which one since the last 429."""

    at: float
    number: int


class Pacer:
    """Paces the calls of one lane; times are seconds of one monotonic clock.

    Attributes:
        pace: calls per second that may go now.
        bucket: what the lane seems to be.
        learned_rate: calls per second that the lane was seen to let through, now or last time; None until a 429 came.
        rate_change: what the last 429 changed.
    """

    def __init__(self, known_rate: float | None = None, first_rate: float = FIRST_RATE) -> None:
        """Begin a little below the rate that the lane had last time; without one, search for it from the first rate."""
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
        if was_held_back:  # a call that came late says nothing of a faster pace
            elapsed = min(passed, max(1.0, 1.0 / self.pace))
            self._held_seconds += elapsed
            self.pace = min(self._target_pace(elapsed), self.pace * math.exp2(elapsed / _DOUBLING_SECONDS))
        self._mark(last, now, was_held_back)
        self._next_at = max(self._next_at, now - _SLACK_SECONDS) + 1.0 / self.pace
        self._last = Sent(now, last.number + 1)
        return self._last

    def pause(self, now: float, pause_seconds: float) -> None:
        """Hold everybody back for so long, and learn nothing of it."""
        self._opens_at = max(self._opens_at, now + pause_seconds)

    def throttled(self, sent: Sent, now: float, pause_seconds: float) -> None:
        """Take note of a 429 to a call, and pause.

        Calls that were on their way already when the first 429 came are of the same volley: only the pause heeds them.
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
        if self._is_shut:  # rather than narrow: come back softly
            self.pace = min(self.pace, 1.0 / max(1.0, pause_seconds))
        self._begin(sent)

    @property
    def _is_searching(self) -> bool:
        return self.learned_rate is None

    @property
    def _is_shared(self) -> bool:
        """Others seem to use the lane too: cycles keep ending early."""
        return self._contention_margin > _CONTENTION_MARGIN

    def _begin(self, emptied: Sent) -> None:
        """Begin a cycle with the call that found the bucket empty."""
        self._last = Sent(emptied.at, 0)
        self._marks = []
        self._marked_pace = self._held_seconds = self._level = self._doublings = 0.0
        self._credit = min(self.bucket.burst, self.bucket.rate * self._pause_seconds)

    def _target_pace(self, elapsed: float) -> float:
        """Give the pace for now; `elapsed` seconds have passed since it was last asked for."""
        if self._is_searching:
            return math.inf
        rate, quiet = self.bucket.rate, self._quiet_seconds()
        if self._held_seconds > quiet:
            self._doublings = min(30.0, self._doublings + elapsed / self._regrowth_seconds())
            return self._spending() * (1 + 0.02 * math.exp2(self._doublings))
        if self._level > self._credit / 2 + 1:
            return rate * (1 + _CATCHING_UP - self._contention_margin)
        careful = rate * (1 - self._contention_margin)
        return careful + (self._spending() - careful) * self._held_seconds / quiet

    def _spending(self) -> float:
        """The pace at which half of the credit is spent in the quiet time."""
        return self.bucket.rate + min(_CATCHING_UP * self.bucket.rate, 0.5 * self._credit / self._quiet_seconds())

    def _regrowth_seconds(self) -> float:
        """In what time the pace moves away twice as far from what was known: slowly, where others use the lane too."""
        return max(_REGROWTH_SECONDS, _REGROWTH_CALLS / self.pace) * (1 + 20 * max(0.0, self._contention_margin))

    def _quiet_seconds(self) -> float:
        """How long to go without provoking a 429: short while the lane is new, and while it is narrower than it was."""
        rate = self.bucket.rate
        full = min(_MOST_QUIET_SECONDS, max(_QUIET_SECONDS, _QUIET_PAUSES * self._pause_seconds, _QUIET_CALLS / rate))
        if rate < 0.7 * self._widest and not self._is_shared:
            full = max(9.0, full / 5)
        return min(full, _FIRST_QUIET_SECONDS * math.exp2(min(self._settled, 10)))

    def _mark(self, last: Sent, now: float, was_held_back: bool) -> None:
        """Keep where the pace changed, so that a cycle can be told in a few stretches."""
        if not self._marked_pace or not was_held_back:
            self._marks += [last, Sent(now, last.number)]
        elif abs(self.pace / self._marked_pace - 1) > 0.04:  # noqa: PLR2004 - finer tells no more
            self._marks.append(last)
        else:
            return
        self._marked_pace = self.pace
        if len(self._marks) > _MOST_MARKS:
            self._marks[2:] = self._marks[2::2]

    def _learn(self, cycle: Cycle) -> None:
        """See what a cycle tells, and whether the lane is still the one that it was."""
        before, is_first = self.bucket, self._is_searching
        earliness = 1.0 - 2.0 * self._held_seconds / self._quiet_seconds()
        is_telling = is_first or cycle.calls >= _TELLING_CALLS  # else one call more would tell quite another rate
        is_narrower = not is_first and self._level > 0.3 * cycle.calls + (2 if is_telling else 4)
        is_wider = cycle.rate(before.burst) / before.rate > 1.15 + 2 * cycle.doubt
        if is_narrower or is_wider:
            self._cycles.clear()
        self._cycles.append(cycle)
        likely = self._likely_burst(cycle, is_wider=is_wider, was_early=earliness > 0)
        fitted = fit(self._cycles, likely, 1.0 if is_first else _MOST_SHRINKING * before.burst)
        least = _LEAST_RATE if is_telling else before.rate / 2
        self.bucket = replace(fitted, rate=max(least, fitted.rate * (1 if is_first else self._surplus(cycle))))
        if self._settled > 1:
            self._widest = max(0.98 * self._widest, fitted.rate)
        gave_more = is_wider or -self._level > 0.25 * before.burst + 3
        self._settle(is_new=is_narrower or is_first, is_wider=gave_more, earliness=earliness)
        self.rate_change = _rate_change(is_first=is_first, is_narrower=is_narrower, is_wider=is_wider)
        self.learned_rate = self.bucket.rate

    def _surplus(self, cycle: Cycle) -> float:
        """Give a factor for the rate where more was let through than there should have been.

        Cycles that are all alike would be explained as well by a larger bucket, and the rate never be found.
        """
        return 1 + 2 * min(0.05, max(0.0, -self._level - 3.0) / cycle.calls)

    def _settle(self, *, is_new: bool, is_wider: bool, earliness: float) -> None:
        """Grow calm while cycles go as they should, and cautious where they end early: others may use the lane too."""
        is_unrest = is_wider and not self._is_shared
        self._settled = 0 if is_new else min(self._settled, 2) if is_unrest else self._settled + 1
        if earliness < -1:  # overdue: the lane gives more than is asked of it
            self._contention_margin = max(-0.014, min(0.9 * self._contention_margin, self._contention_margin - 0.01))
        elif earliness <= 0:
            self._contention_margin *= 0.9
        elif self._settled > 2:  # noqa: PLR2004 - until then the quiet time itself is short
            self._contention_margin = min(0.5, self._contention_margin + 0.04 * earliness)

    def _likely_burst(self, cycle: Cycle, *, is_wider: bool, was_early: bool) -> float:
        """Guess a size for the bucket: what it seemed, but smaller if it had more to give, and larger if less."""
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
