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

from proofsweep.client.bucket import Bucket, Cycle, fit

FIRST_RATE = 6.0
_DOUBLING_SECONDS = 1.5
_SLACK_SECONDS = 0.02
_CATCHING_UP = 0.1
_FIRST_QUIET_SECONDS = 4.0
_QUIET_SECONDS = 45.0
_MOST_QUIET_SECONDS = 240.0
_QUIET_CALLS = 400
_QUIET_PAUSES = 25
_CYCLES = 5
_SHORT_CYCLE_PAUSES = 4
_MOST_MARKS = 96


class Lesson(StrEnum):
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
        lesson: what the last 429 taught.
    """

    def __init__(self, known_rate: float | None = None, first_rate: float = FIRST_RATE) -> None:
        """Begin a little below the rate that the lane had last time; without one, search for it from the first rate."""
        self.learned_rate = known_rate
        self.lesson: Lesson | None = None
        self.pace = first_rate if known_rate is None else 0.95 * known_rate
        self.bucket = Bucket(self.pace, max(1.0, self.pace))
        self._cycles: deque[Cycle] = deque(maxlen=_CYCLES)
        self._settled = 0 if known_rate is None else 3
        self._widest = 0.0
        self._caution = 0.0
        self._pause_seconds = self._told_seconds = 1.0
        self._stopped_at = self._opens_at = self._next_at = -math.inf
        self._last: Sent | None = None
        self._marks: list[Sent] = []
        self._marked_pace = self._held_seconds = 0.0
        self._credit = self._level = self.bucket.burst

    @property
    def next_at(self) -> float:
        """The time from which the next call may go."""
        return max(self._opens_at, self._next_at)

    def send(self, now: float) -> Sent:
        """Take note that a call goes now; it must not go before `next_at`."""
        was_held_back = now - self.next_at < _SLACK_SECONDS
        last = self._last or Sent(now, 0)
        self._level = min(self.bucket.burst, self._level + self.bucket.rate * (now - last.at)) - 1.0
        if was_held_back:  # a call that came late says nothing of a faster pace
            self._held_seconds += min(1.0, now - last.at)
            self.pace = self._course(min(1.0, now - last.at))
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
        self._told_seconds = max(0.1, pause_seconds)
        self._learn(sent)
        self._stopped_at = now
        self._pause_seconds = now + pause_seconds - sent.at
        self.pace = self.bucket.rate
        self._begin(sent)

    @property
    def _is_searching(self) -> bool:
        return self.learned_rate is None

    def _begin(self, emptied: Sent) -> None:
        """Begin a cycle with the call that found the bucket empty."""
        self._last = Sent(emptied.at, 0)
        self._marks = []
        self._marked_pace = self._held_seconds = self._level = 0.0
        self._credit = min(self.bucket.burst, self.bucket.rate * self._pause_seconds)

    def _course(self, elapsed: float) -> float:
        """Give the pace for now; `elapsed` seconds have passed since it was last asked for."""
        if self._is_searching:
            return self.pace * math.exp2(elapsed / _DOUBLING_SECONDS)
        rate, quiet = self.bucket.rate, self._quiet_seconds()
        overdue = self._held_seconds - quiet
        if overdue > 0:
            doublings = min(30.0, overdue / max(_DOUBLING_SECONDS, 10 / rate))
            return self._spending() * (1 + 0.02 * math.exp2(doublings))
        if self._level > self._credit / 2 + 1:
            return rate * (1 + _CATCHING_UP - self._caution)
        careful = rate * (1 - self._caution)
        return careful + (self._spending() - careful) * self._held_seconds / quiet

    def _spending(self) -> float:
        """The pace at which half of the credit is spent in the quiet time."""
        return self.bucket.rate + min(_CATCHING_UP * self.bucket.rate, 0.5 * self._credit / self._quiet_seconds())

    def _quiet_seconds(self) -> float:
        """How long to go without provoking a 429: short while the lane is new, and while it is narrower than it was."""
        rate = self.bucket.rate
        full = min(_MOST_QUIET_SECONDS, max(_QUIET_SECONDS, _QUIET_PAUSES * self._pause_seconds, _QUIET_CALLS / rate))
        if rate < 0.7 * self._widest:
            full = max(10.0, full / 3)
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

    def _learn(self, refused: Sent) -> None:
        """See what the cycle tells that this 429 ends, and whether the lane is still the one that it was."""
        cycle, before = self._cycle_until(refused), self.bucket
        was_early = self._held_seconds < self._quiet_seconds() / 2
        is_narrower = not self._is_searching and self._level > 0.3 * cycle.calls + 2
        is_wider = False
        if cycle.calls:
            is_wider = cycle.rate(before.burst) / before.rate > 1.15 + 2 * cycle.doubt
            if is_narrower or is_wider:
                self._cycles.clear()
            self._cycles.append(cycle)
            self.bucket = fit(self._cycles, self._likely_burst(cycle, is_wider=is_wider, was_early=was_early))
        elif is_narrower:
            self.bucket = Bucket(before.rate / 2, before.burst)
        self.bucket = replace(self.bucket, rate=max(self.bucket.rate, 0.5 / self._told_seconds))
        self._settle(is_new=is_narrower or self._is_searching, is_wider=is_wider, was_early=was_early)
        self._widest = max(0.98 * self._widest, self.bucket.rate)
        self.lesson = _lesson(is_first=self._is_searching, is_narrower=is_narrower, is_wider=is_wider)
        self.learned_rate = self.bucket.rate

    def _settle(self, *, is_new: bool, is_wider: bool, was_early: bool) -> None:
        """Grow calm while cycles go as they should, and cautious where they end early: others may use the lane too."""
        self._settled = 0 if is_new else min(self._settled, 2) if is_wider else self._settled + 1
        if not was_early:
            self._caution *= 0.7
        elif self._settled > 2:  # noqa: PLR2004 - until then the quiet time itself is short
            self._caution = min(0.5, self._caution + 0.04 * (1 - 2 * self._held_seconds / self._quiet_seconds()))

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


def _lesson(*, is_first: bool, is_narrower: bool, is_wider: bool) -> Lesson:
    if is_first:
        return Lesson.FOUND
    return Lesson.NARROWER if is_narrower else Lesson.WIDER if is_wider else Lesson.THE_SAME
