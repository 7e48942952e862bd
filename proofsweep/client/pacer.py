"""How fast to send: learned from counts and 429s alone; the time is an argument (contract, Limits).

The lane is modelled as a token bucket. A 429 that is due says that it is empty. All calls then pause, and the bucket
gains some credit. The calls from one such 429 to the next are a cycle. A few cycles show the bucket's rate and size. A
429 that is not due is a hint: the calls pause, and the cycle goes on. Several hints that agree are proof.

Until half of the credit is spent, the pace is a little above the rate. Then it is about the rate, and rises so slowly
that the rest lasts through a quiet time. If the 429 that is then due does not come, the lane is wider than before, and
the pace grows by time until it is refused more often. Where 429s are frequent at any pace, a single one shows nothing:
then only growth that goes through proves a rate. Where they are by chance, their share is accepted.
"""

import math
from collections import deque
from dataclasses import replace

from proofsweep.client.lane_model import (
    ChanceTest,
    Contention,
    Cycle,
    CycleRecorder,
    Refusals,
    Sent,
    TokenBucket,
    fit,
    joined,
)

# Measured together: python -m benchmarks.lanes
FIRST_RATE = 6.0  # where a search begins, in calls per second
_LEAST_FIRST_RATE = 1.0  # and at least
_REMEMBERED_SHARE = 0.95  # the part of a remembered rate that a run begins with
_BURST_SECONDS = 1.0  # a burst that empties the bucket so soon shows its size and little of its rate
_DOUBLING_SECONDS = 1.5  # how fast the pace may double
_REGROWTH_SECONDS, _REGROWTH_CALLS = 1.0, 10  # how fast growth doubles when a 429 is overdue: the longer of both
_SHARED_REGROWTH = 20.0  # how much slower it grows where others use the lane
_SHARED_REGROWTH_MARGIN = 0.2  # the largest margin that counts for that
_FIRST_EXCESS = 0.02  # the excess over the rate with which growth begins, as a share
_SLACK_SECONDS = 0.02  # how late a call may go and still count as sent at the pace
_IDLE_SECONDS = 0.4  # how late a call may go before the bucket has filled much
_BURST_SHARE = 0.2  # how far above the rate the pace is while credit is spent, as a share
_CATCH_UP_SHARE = 0.1  # how far above the rate the pace may be later, as a share
_DUE_SHARE = 0.2  # the level at which a 429 is due, as a share of the credit
# 429s are frequent while one follows on so many calls at a pace that does not grow.
_LEAST_FREQUENT, _MOST_FREQUENT = 14.0, 90.0
_COUNTED_TIMES_SHUT = 3  # 429s in a row without a call let through that count as of other users, until a rate is known
_FIRST_QUIET_SECONDS = 4.0  # the quiet time of a new lane, which doubles with each calm cycle
# The quiet time of a known lane: the longest of three, up to the fourth.
_QUIET_SECONDS, _QUIET_CALLS, _QUIET_PAUSES, _MOST_QUIET_SECONDS = 45.0, 400, 25, 240.0
_QUIET_CYCLES, _LEAST_QUIET_SECONDS = 2, 8.0  # where 429s are frequent anyway: in usual cycles, and at least
_NARROW_SHARE = 0.7  # a lane is narrow below this share of what it was
# Below these shares of what it was, growth is fast: of a lane, and of one that others use too or that was shut.
_WIDE_SHARE, _SHUT_SHARE = 0.5, 0.01
_NARROW_PART, _LEAST_NARROW_SECONDS = 6, 9.0  # its quiet time: as a part, and at least
_CYCLES = 5  # cycles that the fit remembers
_MEANINGFUL_CALLS = 6  # calls that make a cycle meaningful: else one call more means another rate
_LEAST_CALLS_PER_SECOND = 0.01  # the lowest rate learned
_MOST_SHRINKING_SHARE = 0.6  # the smallest new size of the bucket, as a share of the old one
_MOST_LOG_EXCESS = 0.007  # how far above the rate the pace stays after 429s that came late, as a share
_OVERDUE_PACE = 1.07  # a 429 is overdue above so many times the pace that was meant
_SHUT_SECONDS = 10.0  # a longer pause paces by itself: one call after it shows nothing
_FIRST_TEST_MARGIN = 0.45  # groups are first sent while the pace is lowered by no more
_ACCEPTED_SHARES = 1.5  # the share of 429s accepted by chance, in shares that the test has met
_MOST_ACCEPTED = 0.055  # and at most
# Of a rate that another process learned: the cycles that it counts for, and the change that voids earlier 429s.
_CALM_CYCLES, _MUCH = 3, 0.2
# Seconds after it until a 429 counts again: the others may not know yet that the parts are new.
_SETTLE_SECONDS = 2.0
_GIVEN_UP_MARGIN = 0.6  # the margin at which it was no chance


class Pacer:
    """Paces the calls of one lane; times are seconds of one monotonic clock."""

    def __init__(self, known_rate: float | None = None, first_rate: float = FIRST_RATE) -> None:
        """Search for the rate: from the first rate at once, or from a little below a known one after a short time."""
        # Calls per second that the lane lets through, by this run or an earlier one; None until a 429.
        self.learned_rate = known_rate
        # Calls per second that may go now.
        self.pace = first_rate if known_rate is None else max(_LEAST_FIRST_RATE, _REMEMBERED_SHARE * known_rate)
        self.bucket = TokenBucket(self.pace, max(1.0, self.pace))  # explains the 429s best
        self._cycles: deque[Cycle] = deque(maxlen=_CYCLES)
        self._calm_cycles = 0  # regular cycles since the last change
        self._widest = 0.0  # calls per second that the lane once let through
        self._log_excess = 0.0  # the logarithm of how far above the rate the pace stays
        self.is_shared = False  # other processes are known to use the lane: each 429 is due
        self._is_searching = True
        self._search_after = 0.0 if known_rate is None else _FIRST_QUIET_SECONDS
        self._recorder = CycleRecorder()
        self._refusals = Refusals()
        self._contention = Contention()
        self._chance_test = ChanceTest()
        self._pause_seconds = 1.0
        self._stopped_at = self.opens_at = self._next_at = -math.inf
        self._times_shut = 0
        self._held_seconds = self._doublings = 0.0
        self._credit = self._level = self.bucket.burst

    @property
    def next_at(self) -> float:
        return max(self.opens_at, self._next_at)

    def send(self, now: float) -> Sent:
        late_seconds = now - self.next_at
        was_held_back = late_seconds < _SLACK_SECONDS
        last, bucket = self._recorder.last, self.bucket
        passed = 0.0 if last is None else now - last.at
        self._level = min(bucket.burst, self._level + bucket.rate * passed) - 1.0
        self._contention.sent()
        if not self._doublings:
            self._refusals.sent()
        if was_held_back:  # a late call shows nothing about a faster pace
            self._raise_pace(now, passed)
        elif late_seconds > _IDLE_SECONDS and not (self._is_searching or self._contention.is_shared):
            self._note_idle(late_seconds)
        gap = 1.0 / self.pace
        if self._is_tested:
            gap = self._chance_test.gap_seconds(now, gap)
        self._next_at = max(self._next_at, now - _SLACK_SECONDS) + gap
        return self._recorder.send(now, self.pace, was_held_back=was_held_back)

    def pause(self, now: float, pause_seconds: float) -> None:
        """Hold all calls back for so long, and learn nothing from it."""
        self.opens_at = max(self.opens_at, now + pause_seconds)

    def throttled(self, sent: Sent, now: float, pause_seconds: float) -> None:
        """Take note of a 429 and pause; one to a call that was in flight at the first 429 only lengthens the pause."""
        self.pause(now, pause_seconds)
        if sent.at <= self._stopped_at:
            self._chance_test.refused_too(sent.at)
            return
        self._chance_test.refused(sent.at, now)
        cycle = self._recorder.until(sent, begins_full=self._stopped_at == -math.inf)
        self._note_shut(cycle, pause_seconds)
        self._note_chance()
        is_learned = self._note_cycle(cycle, pause_seconds)
        self._stopped_at = now
        self._pause_seconds = now + pause_seconds - sent.at
        self._recorder.begin(sent)
        if is_learned:
            self._begin()
        elif self._doublings and (self._contention.is_shared or cycle.calls < 0.5 * self._refusals.usual_calls):
            self._held_seconds = self._doublings = 0.0  # a faster pace is refused more often
            self.pace = min(self.pace, self.bucket.rate)

    def assume(self, rate: float, now: float) -> None:
        """Keep to a rate that another process has learned, and learn on from there."""
        bucket = self.bucket
        burst = max(1.0, min(rate, bucket.burst * rate / bucket.rate))
        self.bucket, self._calm_cycles = TokenBucket(rate, burst), _CALM_CYCLES
        self._widest = self._log_excess = 0.0
        self._cycles.clear()
        if abs(math.log(rate / bucket.rate)) > _MUCH:
            self._refusals.forget()
        self._is_searching = False
        self.learned_rate = self.pace = rate
        self._stopped_at = now + _SETTLE_SECONDS  # a 429 to an earlier call shows nothing about this rate
        self._recorder.begin(Sent(now, 0))
        self._begin()

    def search_again(self, sent: Sent, now: float) -> None:
        self.learned_rate = None
        self._contention = Contention()
        self._is_searching, self._search_after = True, 0.0
        self._stopped_at = now
        self._recorder.begin(sent)
        self._begin()

    def _note_shut(self, cycle: Cycle, pause_seconds: float) -> None:
        """Begin again slowly when nothing goes through: such a lane is neither narrow nor contended for."""
        is_shut = cycle.calls <= (pause_seconds > _SHUT_SECONDS)
        self._times_shut = self._times_shut + 1 if is_shut else 0
        if self._times_shut > 1 or (is_shut and self._is_searching):
            self.pace = min(self.pace, 1.0 / max(1.0, pause_seconds))
        is_counted = self._times_shut <= (_COUNTED_TIMES_SHUT if self._is_searching else 1)
        if is_counted and pause_seconds <= _SHUT_SECONDS and not self.is_shared:
            self._contention.refused(math.inf if self._doublings else cycle.calls)

    def _note_chance(self) -> None:
        if self._contention.is_chance and self._contention.margin > _GIVEN_UP_MARGIN:
            self._contention.accept(None)
            self._chance_test.reject()
        elif self._chance_test.is_proven and not self._contention.is_chance:
            self._contention.accept(min(_MOST_ACCEPTED, _ACCEPTED_SHARES * self._chance_test.share))

    def _note_cycle(self, cycle: Cycle, pause_seconds: float) -> bool:
        self._refusals.add(cycle)
        is_learned = (cycle.calls > 1 or pause_seconds <= _SHUT_SECONDS) and self._is_learned(cycle, pause_seconds)
        if not self._doublings:
            self._refusals.count()
        return is_learned

    def _is_learned(self, cycle: Cycle, pause_seconds: float) -> bool:
        if cycle.calls and self._is_searching:
            self._search(cycle, pause_seconds)
        elif cycle.calls and self._is_due(cycle) and not self._is_frequent:
            self._learn(self._refusals.whole(), is_narrower=False)
        elif not self._is_searching and (agreeing := self._refusals.agreeing()):
            self._learn(joined(agreeing), is_narrower=True)
        else:
            if self._is_frequent and cycle.calls >= max(6.0, 0.5 * self._refusals.usual_calls):
                self.bucket = replace(self.bucket, rate=max(self.bucket.rate, cycle.rate(self.bucket.burst)))
            return False
        self._refusals.forget()
        self.pace = self.bucket.rate
        return True

    def _is_due(self, cycle: Cycle) -> bool:
        """Whether a 429 was to be expected: as others take a part of the tokens, so few calls show nothing."""
        if self.is_shared:
            return cycle.calls >= _MEANINGFUL_CALLS
        return self._level < 1.0 + _DUE_SHARE * self._credit

    @property
    def _is_frequent(self) -> bool:
        """Whether 429s come so often, at any pace, that a single one shows nothing about the bucket."""
        least = 0.0 if self._contention.is_chance else _LEAST_FREQUENT
        return not self.is_shared and least < self._refusals.usual_calls < _MOST_FREQUENT

    @property
    def _is_tested(self) -> bool:
        margin = self._contention.margin
        if not margin or self._contention.is_chance or not self._is_frequent:
            return False
        return margin <= _FIRST_TEST_MARGIN or self._chance_test.has_begun

    def _search(self, cycle: Cycle, pause_seconds: float) -> None:
        if self._held_seconds < max(_BURST_SECONDS, cycle.seconds / 2):
            self.bucket = TokenBucket(cycle.calls / (cycle.seconds + pause_seconds), float(cycle.calls))
            self._search_after = 0.0
        else:
            self._learn(cycle, is_narrower=False)
            self._is_searching = False

    def _begin(self) -> None:
        self._held_seconds = self._level = self._doublings = 0.0
        self._credit = min(self.bucket.burst, self.bucket.rate * self._pause_seconds)

    def _raise_pace(self, now: float, passed: float) -> None:
        elapsed = min(passed, max(1.0, 1.0 / self.pace))
        if self._is_searching and self._pause_seconds <= _SHUT_SECONDS:
            elapsed = min(elapsed, max(0.0, now - self.opens_at))  # a pause shows nothing about the pace
        self._held_seconds += elapsed
        if self._is_searching:
            target = self.pace if self._held_seconds < self._search_after else math.inf
        else:
            target = self._intended_pace(elapsed) * math.exp(self._log_excess - self._contention.margin)
        self.pace = min(target, self.pace * math.exp2(min(30.0, elapsed / _DOUBLING_SECONDS)))

    def _note_idle(self, idle_seconds: float) -> None:
        filled_seconds = min(idle_seconds, self.bucket.burst / self.bucket.rate)
        held_seconds = min(self._held_seconds, self._quiet_seconds()) - filled_seconds / _CATCH_UP_SHARE
        self._held_seconds, self._doublings = max(0.0, held_seconds), 0.0

    def _intended_pace(self, elapsed: float) -> float:
        rate, quiet = self.bucket.rate, self._quiet_seconds()
        if self._held_seconds > quiet:
            self._doublings = min(30.0, self._doublings + elapsed / self._regrowth_seconds())
            return self._spending() * (1 + _FIRST_EXCESS * math.exp2(self._doublings))
        if self._level > self._credit / 2 + 1:
            return rate * (1 + _BURST_SHARE)
        return rate + (self._spending() - rate) * self._held_seconds / quiet

    def _spending(self) -> float:
        return self.bucket.rate + min(_CATCH_UP_SHARE * self.bucket.rate, 0.5 * self._credit / self._quiet_seconds())

    def _regrowth_seconds(self) -> float:
        """Return the time in which the excess over the known pace doubles: longer where others use the lane too."""
        if self.bucket.rate < (_SHUT_SHARE if self._contention.is_shared else _WIDE_SHARE) * self._widest:
            return _REGROWTH_SECONDS
        slower = 1 + _SHARED_REGROWTH * min(_SHARED_REGROWTH_MARGIN, self._contention.margin)
        return max(_REGROWTH_SECONDS, _REGROWTH_CALLS / self.pace) * slower

    def _quiet_seconds(self) -> float:
        """Return how long no 429 is looked for: short while the lane is new, and while it is narrower than before."""
        rate = self.bucket.rate
        most = max(_QUIET_SECONDS, _QUIET_PAUSES * self._pause_seconds, _QUIET_CALLS / rate)
        quiet = min(_MOST_QUIET_SECONDS, most)
        if not self._contention.is_shared:  # else others would be disturbed
            if rate < _NARROW_SHARE * self._widest:
                quiet = max(_LEAST_NARROW_SECONDS, quiet / _NARROW_PART)
            quiet = min(quiet, max(_LEAST_QUIET_SECONDS, _QUIET_CYCLES * self._refusals.usual_calls / rate))
        return min(quiet, _FIRST_QUIET_SECONDS * math.exp2(min(self._calm_cycles, 10)))

    def _learn(self, cycle: Cycle, *, is_narrower: bool) -> None:
        """Find the bucket that explains the last cycles; `is_narrower` if several 429s agree that it gives less."""
        before, quiet, is_first = self.bucket, self._quiet_seconds(), self._is_searching
        is_wider = cycle.rate(before.burst) / before.rate > 1.15 + 2 * cycle.uncertainty
        if is_narrower or is_wider:
            self._cycles.clear()
        self._cycles.append(cycle)
        likely_burst = self._likely_burst(cycle, quiet, is_wider=is_wider)
        fitted = fit(self._cycles, likely_burst, 1.0 if is_first else _MOST_SHRINKING_SHARE * before.burst)
        is_meaningful = is_first or is_narrower or cycle.calls >= _MEANINGFUL_CALLS
        least = _LEAST_CALLS_PER_SECOND if is_meaningful else before.rate / 2
        self.bucket = replace(fitted, rate=max(least, fitted.rate))
        if self._calm_cycles > 1:
            self._widest = max(0.98 * self._widest, fitted.rate)
        is_late = self._held_seconds > quiet and not is_narrower
        self._log_excess = min(_MOST_LOG_EXCESS, self._log_excess + 0.01) if is_late else self._log_excess / 2
        gave_more = is_wider or -self._level > 0.25 * before.burst + 3
        if is_narrower or is_first:
            self._calm_cycles = 0
        elif gave_more and not self._contention.is_shared:
            self._calm_cycles = min(self._calm_cycles, 2)
        else:
            self._calm_cycles += 1
        self.learned_rate = self.bucket.rate

    def _likely_burst(self, cycle: Cycle, quiet: float, *, is_wider: bool) -> float:
        burst, rate = self.bucket.burst, self.bucket.rate
        if self._is_searching:
            return self.pace / 4
        if is_wider:
            return max(self.pace / 4, burst)
        if self.pace > _OVERDUE_PACE * self._spending():  # it was already growing, because the 429 came late
            return min(burst, max(0.85 * burst, 0.3 * rate))
        if self._held_seconds < quiet / 2 and cycle.calls > _CYCLES:
            return max(burst, min(1.15 * burst, 1.5 * rate))
        return burst
