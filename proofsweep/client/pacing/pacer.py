"""How fast to send: learned from counts and 429s alone; the time is an argument (contract, Limits).

The lane is modelled as a token bucket. A 429 that is due says that it is empty. All calls then pause, and the bucket
gains some credit. The calls from one such 429 to the next are a cycle. A few cycles show the bucket's rate and size. A
429 that is not due is a hint: the calls pause, and the cycle goes on. Several hints that agree are proof.

Until half of the credit is spent, the pace is a little above the rate. Then it is about the rate, and rises so slowly
that the rest lasts through a quiet time. If the 429 that is then due does not come, the lane is wider than before, and
the pace grows by time until it is refused more often.
"""

import math
from collections import deque
from dataclasses import replace
from enum import StrEnum

from proofsweep.client.pacing.contention import Contention
from proofsweep.client.pacing.cycles import Cycle, CycleRecorder, Sent, joined
from proofsweep.client.pacing.refusals import Refusals
from proofsweep.client.pacing.token_bucket import TokenBucket, fit

# All chosen, and checked together, not one by one, in benchmarks/simulation: goodput and 429s of many lanes.
# Where a search begins, per second. Half: it takes longer. Twice: narrow lanes refuse more calls at first.
FIRST_RATE = 6.0
# Where a search begins at least. Half: a remembered rate that is far too low costs more. Twice: more 429s at the start.
_LEAST_FIRST_RATE = 1.0
# The part of a remembered rate that a run begins with. Half: it is used later. More: its error is refused.
_REMEMBERED_SHARE = 0.95
# A burst that empties the bucket so soon shows its size and little of its rate. Half or twice: the same, up to chance.
_BURST_SECONDS = 1.0
# The lowest rate learned. Half or twice changes nothing but how often a lane that is almost shut is tried.
_LEAST_CALLS_PER_SECOND = 0.01
# How fast the pace may double. Half: a search overshoots more at its first 429. Twice: it takes longer.
_DOUBLING_SECONDS = 1.5
# How fast growth doubles when a 429 is overdue: the longer of both. Half: more 429s. Twice: a wider lane is used later.
_REGROWTH_SECONDS = 1.0
_REGROWTH_CALLS = 10
# How much slower it grows where others use the lane, and the margin that counts most. Half: they are refused more.
_SHARED_REGROWTH = 20.0
_SHARED_REGROWTH_MARGIN = 0.2
# The excess over the rate with which growth begins, as a share. Half: later. Twice: more 429s.
_FIRST_EXCESS = 0.02
# How late a call may go and still count as sent at the pace. Half: a busy machine counts as idle. Twice: the reverse.
_SLACK_SECONDS = 0.02
# How far above the rate the pace is while credit is spent, as a share. Half: credit is lost. Twice: earlier 429s.
_BURST_SHARE = 0.2
# How far above the rate the pace may be later, as a share. Half: credit is lost. Twice: earlier 429s.
_CATCH_UP_SHARE = 0.1
# How far above the rate the pace stays after 429s that came late, as a share. Half: a small bucket overflows. Twice:
# earlier 429s.
_MOST_LIFT = 0.007
# The level at which a 429 is due, as a share of the credit. Half: the model's error looks like a hint. Twice: chance
# counts as proof.
_DUE_SHARE = 0.2
# The quiet time of a new lane, which doubles with each calm cycle. Half: more 429s at first. Twice: learns later.
_FIRST_QUIET_SECONDS = 4.0
# The quiet time of a known lane: the longest of three, up to the fourth. Half: more 429s. Twice: notices width later.
_QUIET_SECONDS = 45.0
_QUIET_CALLS = 400
_QUIET_PAUSES = 25
_MOST_QUIET_SECONDS = 240.0
# The quiet time where 429s are frequent anyway, in usual cycles, and at least. Half: more 429s. Twice: noticed later.
_QUIET_CYCLES = 4
_LEAST_QUIET_SECONDS = 8.0
# The quiet time in a lane that is narrower than before, as a part, and at least. Half: more 429s. Twice: back later.
_NARROW_PART = 6
_LEAST_NARROW_SECONDS = 9.0
# Cycles that the fit remembers. Half: size and rate cannot be told apart. Twice: a change is noticed later.
_CYCLES = 5
# A cycle is short below so many pauses. Half: an underestimated bucket grows slowly. Twice: it grows too fast.
_SHORT_CYCLE_PAUSES = 4
# Calls that make a cycle meaningful. Half: one call more means quite another rate. Twice: slow lanes learn late.
_MEANINGFUL_CALLS = 6
# The smallest new size of the bucket, as a share of the old one. Half: one odd cycle loses it. Twice: it never shrinks.
_MOST_SHRINKING_SHARE = 0.6
# A longer pause paces by itself: one call after it shows nothing. Half: slow lanes are lost. Twice: as many 429s.
_SHUT_SECONDS = 10.0


class RateChange(StrEnum):
    """What a 429 changed in what is known of the lane."""

    FOUND = "found"
    THE_SAME = "the same"
    NARROWER = "narrower"
    WIDER = "wider"


class Pacer:
    """Paces the calls of one lane; times are seconds of one monotonic clock.

    Attributes:
        pace: calls per second that may go now.
        bucket: the model of the lane.
        learned_rate: calls per second that the lane lets through, by this run or an earlier one; None until a 429.
        rate_change: what the last 429 changed.
    """

    def __init__(self, known_rate: float | None = None, first_rate: float = FIRST_RATE) -> None:
        """Search for the rate: from the first rate at once, or from a little below a known one after a short time."""
        self.learned_rate = known_rate
        self.rate_change: RateChange | None = None
        self.pace = first_rate if known_rate is None else max(_LEAST_FIRST_RATE, _REMEMBERED_SHARE * known_rate)
        self.bucket = TokenBucket(self.pace, max(1.0, self.pace))
        self._is_searching = True
        self._search_after = 0.0 if known_rate is None else _FIRST_QUIET_SECONDS
        self._recorder = CycleRecorder()
        self._refusals = Refusals()
        self._contention = Contention()
        self._cycles: deque[Cycle] = deque(maxlen=_CYCLES)
        self._settled = 0
        self._widest = 0.0
        self._lift = 0.0
        self._pause_seconds = 1.0
        self._stopped_at = self._opens_at = self._next_at = -math.inf
        self._times_shut = 0
        self._held_seconds = self._doublings = 0.0
        self._credit = self._level = self.bucket.burst

    @property
    def next_at(self) -> float:
        """The time from which the next call may go."""
        return max(self._opens_at, self._next_at)

    def send(self, now: float) -> Sent:
        """Take note that a call goes now; it must not go before `next_at`."""
        was_held_back = now - self.next_at < _SLACK_SECONDS
        passed = self._recorder.seconds_since_last(now)
        self._level = min(self.bucket.burst, self._level + self.bucket.rate * passed) - 1.0
        self._contention.sent()
        if was_held_back:  # a late call shows nothing about a faster pace
            elapsed = min(passed, max(1.0, 1.0 / self.pace))
            self._held_seconds += elapsed
            self.pace = min(self._target_pace(elapsed), self.pace * math.exp2(elapsed / _DOUBLING_SECONDS))
        self._next_at = max(self._next_at, now - _SLACK_SECONDS) + 1.0 / self.pace
        return self._recorder.send(now, self.pace, was_held_back=was_held_back)

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
        cycle = self._recorder.until(sent, begins_full=self._stopped_at == -math.inf)
        self._refusals.add(cycle)
        self._note_shut(cycle, pause_seconds)
        is_learned = (cycle.calls > 1 or pause_seconds <= _SHUT_SECONDS) and self._is_learned(cycle, pause_seconds)
        if is_learned or not self._doublings:
            self._refusals.count(cycle)
        self._stopped_at = now
        self._pause_seconds = now + pause_seconds - sent.at
        self._recorder.begin(sent)
        if is_learned:
            self._begin()
        elif self._doublings and (self._contention.is_shared or cycle.calls < 0.5 * self._refusals.usual_calls):
            self._held_seconds = self._doublings = 0.0  # a faster pace is refused more often
            self.pace = min(self.pace, self.bucket.rate)

    def search_again(self, sent: Sent, now: float) -> None:
        """Search for the rate from the present pace on: another limit has caused the 429s until this one."""
        self.learned_rate = self.rate_change = None
        self._is_searching, self._search_after = True, 0.0
        self._stopped_at = now
        self._recorder.begin(sent)
        self._begin()

    def _note_shut(self, cycle: Cycle, pause_seconds: float) -> None:
        """Begin again slowly when nothing goes through: such a lane is neither narrow nor contended for."""
        is_shut = cycle.calls <= (pause_seconds > _SHUT_SECONDS)
        self._times_shut = self._times_shut + 1 if is_shut else 0
        if self._times_shut > 1:
            self.pace = min(self.pace, 1.0 / max(1.0, pause_seconds))
        elif pause_seconds <= _SHUT_SECONDS:
            self._contention.refused(cycle.calls)

    def _is_learned(self, cycle: Cycle, pause_seconds: float) -> bool:
        """Learn from a 429 that was due, or from several that agree; say whether one of the two was so."""
        if cycle.calls and self._is_searching:
            self._search(cycle, pause_seconds)
        elif cycle.calls and self._level < 1.0 + _DUE_SHARE * self._credit:
            self._learn(self._refusals.whole(), is_narrower=False)
        elif not self._is_searching and (agreeing := self._refusals.agreeing()):
            self._contention.explained(len(agreeing))
            self._learn(joined(agreeing), is_narrower=True)
        else:
            return False
        self._refusals.forget()
        self.pace = self.bucket.rate
        return True

    def _search(self, cycle: Cycle, pause_seconds: float) -> None:
        if self._held_seconds < max(_BURST_SECONDS, cycle.seconds / 2):
            self.bucket = TokenBucket(cycle.calls / (cycle.seconds + pause_seconds), float(cycle.calls))
            self._search_after = 0.0
        else:
            self._learn(cycle, is_narrower=False)
            self._is_searching = False

    def _begin(self) -> None:
        """Begin a cycle with an empty bucket."""
        self._held_seconds = self._level = self._doublings = 0.0
        self._credit = min(self.bucket.burst, self.bucket.rate * self._pause_seconds)

    def _target_pace(self, elapsed: float) -> float:
        """Give the pace for now, `elapsed` seconds after the last time."""
        if self._is_searching:
            return self.pace if self._held_seconds < self._search_after else math.inf
        return self._intended_pace(elapsed) * math.exp(self._lift - self._contention.margin)

    def _intended_pace(self, elapsed: float) -> float:
        rate, quiet = self.bucket.rate, self._quiet_seconds()
        if self._held_seconds > quiet:
            self._doublings = min(30.0, self._doublings + elapsed / self._regrowth_seconds())
            return self._spending() * (1 + _FIRST_EXCESS * math.exp2(self._doublings))
        if self._level > self._credit / 2 + 1:
            return rate * (1 + _BURST_SHARE)
        return rate + (self._spending() - rate) * self._held_seconds / quiet

    def _spending(self) -> float:
        """Give the pace that spends half of the credit in the quiet time."""
        return self.bucket.rate + min(_CATCH_UP_SHARE * self.bucket.rate, 0.5 * self._credit / self._quiet_seconds())

    def _regrowth_seconds(self) -> float:
        """Give the time in which the excess over the known pace doubles: longer where others use the lane too."""
        if self.bucket.rate < 0.5 * self._widest and not self._contention.is_shared:
            return _REGROWTH_SECONDS
        slower = 1 + _SHARED_REGROWTH * min(_SHARED_REGROWTH_MARGIN, self._contention.margin)
        return max(_REGROWTH_SECONDS, _REGROWTH_CALLS / self.pace) * slower

    def _quiet_seconds(self) -> float:
        """Give the time without a provoked 429: short while the lane is new, and while it is narrower than before."""
        rate = self.bucket.rate
        full = min(_MOST_QUIET_SECONDS, max(_QUIET_SECONDS, _QUIET_PAUSES * self._pause_seconds, _QUIET_CALLS / rate))
        if not self._contention.is_shared:
            if rate < 0.7 * self._widest:
                full = max(_LEAST_NARROW_SECONDS, full / _NARROW_PART)
            full = min(full, max(_LEAST_QUIET_SECONDS, _QUIET_CYCLES * self._refusals.usual_calls / rate))
        return min(full, _FIRST_QUIET_SECONDS * math.exp2(min(self._settled, 10)))

    def _learn(self, cycle: Cycle, *, is_narrower: bool) -> None:
        """Learn from cycles that emptied the bucket, and find out whether the lane has changed."""
        before, is_first = self.bucket, self._is_searching
        earliness = 1.0 - 2.0 * self._held_seconds / self._quiet_seconds()
        # Else one call more means another rate.
        is_meaningful = is_first or is_narrower or cycle.calls >= _MEANINGFUL_CALLS
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
        self._lift = min(_MOST_LIFT, self._lift + 0.01) if earliness < -1 and not is_narrower else self._lift / 2
        self._settle(is_new=is_narrower or is_first, is_wider=gave_more)
        self.rate_change = _rate_change(is_first=is_first, is_narrower=is_narrower, is_wider=is_wider)
        self.learned_rate = self.bucket.rate

    def _surplus(self, cycle: Cycle) -> float:
        """Give a factor for the rate after a cycle that let more through than the model has.

        A larger bucket would explain cycles of one kind as well, and then the rate would never be found.
        """
        return 1 + 2 * min(0.05, max(0.0, -self._level - 3.0) / cycle.calls)

    def _settle(self, *, is_new: bool, is_wider: bool) -> None:
        """Lengthen the quiet time after regular cycles."""
        is_unsettled = is_wider and not self._contention.is_shared
        self._settled = 0 if is_new else min(self._settled, 2) if is_unsettled else self._settled + 1

    def _likely_burst(self, cycle: Cycle, *, is_wider: bool, was_early: bool) -> float:
        """Guess the size of the bucket: as before, or smaller if the 429 came late, or larger if it came early."""
        burst, rate = self.bucket.burst, self.bucket.rate
        if self._is_searching:
            return self.pace / 4
        if is_wider:
            return max(self.pace / 4, burst)
        if self.pace > 1.07 * self._spending():
            return min(burst, max(0.85 * burst, 0.3 * rate))
        if was_early and cycle.calls > _CYCLES:
            growth = 1.5 if self._held_seconds < _SHORT_CYCLE_PAUSES * self._pause_seconds else 1.15
            return max(burst, min(growth * burst, 1.5 * rate))
        return burst


def _rate_change(*, is_first: bool, is_narrower: bool, is_wider: bool) -> RateChange:
    if is_first:
        return RateChange.FOUND
    return RateChange.NARROWER if is_narrower else RateChange.WIDER if is_wider else RateChange.THE_SAME
