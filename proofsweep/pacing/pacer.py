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

from proofsweep.pacing.lane_model import ChanceTest, Contention, Cycle, Sent, agreeing, fit, joined

# Measured together: python -m benchmarks.lanes
FIRST_RATE = 6.0  # where a search begins, in calls per second
_REMEMBERED_SHARE = 0.95  # the part of a remembered rate that a run begins with
_DOUBLING_SECONDS = 1.5  # how fast the pace may double
_MOST_DOUBLINGS = 30.0  # more would overflow
_SLACK_SECONDS = 0.02  # how late a call may go and still count as sent at the pace
_BURST_SHARE, _CATCH_UP_SHARE = 0.2, 0.1  # how far above the rate the pace is while credit is spent, and later at most
_DUE_SHARE = 0.2  # the level at which a 429 is due, as a share of the credit
_FREQUENT, _RARE = 14.0, 90.0  # 429s are frequent while one follows on so many calls at a pace that does not grow
_MEANINGFUL_CALLS = 6  # calls that make a cycle meaningful: else one call more means another rate
_SHUT_SECONDS = 10.0  # a longer pause paces by itself: one call after it shows nothing
# The quiet time of a known lane is the longest of three, the second up to the fourth; that of a new one doubles with
# each cycle.
_QUIET_SECONDS, _QUIET_CALLS, _QUIET_PAUSES, _MOST_QUIET_SECONDS = 45.0, 400, 25, 240.0
_FIRST_QUIET_SECONDS = 4.0
_NARROW_SHARE, _WIDE_SHARE, _SHUT_SHARE = 0.7, 0.5, 0.01  # of the widest rate: below, a pace grows sooner or faster
_PACE_STEP, _MOST_MARKS = 0.04, 48  # how much of a change is marked; beyond so many marks every second one goes
_TESTED_MARGIN, _GIVEN_UP_MARGIN = 0.45, 0.6  # where the test of chance may begin, and where it was no chance
# Of a rate that another process learned: the change that voids earlier 429s, as a logarithm, and the time until a 429
# counts again, as the others may not know yet that the parts are new.
_MUCH, _SETTLE_SECONDS = 0.2, 2.0


class Pacer:
    """Paces the calls of one lane; times are seconds of one monotonic clock."""

    def __init__(self, known_rate: float | None = None, first_rate: float = FIRST_RATE) -> None:
        """Search for the rate: from the first rate at once, or from a little below a known one after a short time."""
        # Calls per second that the lane lets through, by this run or an earlier one; None until a 429.
        self.learned_rate = known_rate
        # Calls per second that may go now.
        self.pace, self._search_after = first_rate, 0.0
        if known_rate is not None:
            self.pace = max(1.0, _REMEMBERED_SHARE * known_rate)
            self._search_after = _FIRST_QUIET_SECONDS
        self._is_searching = True
        # Of the bucket that explains the 429s best.
        self.rate, self.burst = self.pace, max(1.0, self.pace)
        self.is_shared = False  # other processes are known to use the lane: each 429 is due
        self.opens_at = self._next_at = self._stopped_at = -math.inf
        self._contention, self._chance_test = Contention(), ChanceTest()
        self._known: deque[Cycle] = deque(maxlen=5)  # what the fit remembers
        self._since: deque[Cycle] = deque(maxlen=64)  # since something was last learned
        self._usual_calls, self._calm_calls = 300.0, 0  # between two 429s, as an average; since the last one
        self._calm_cycles = 0  # regular cycles since the last change
        # Rate and burst that several 429s have just lowered, until the next 429 shows whether they were right.
        self._before: tuple[float, float] | None = None
        self._widest = 0.0  # calls per second that the lane once let through
        self._log_excess = 0.0  # the logarithm of how far above the rate the pace stays
        self._pause_seconds, self._times_shut = 1.0, 0
        self._last: Sent | None = None  # the last call since the last 429
        self._marks: list[Sent] = []  # where the pace changed, so that a few stretches describe a cycle
        self._marked_pace = 0.0
        # Since something was last learned: how long the pace was used, what is left in the bucket, of what, and growth.
        self._held_seconds = self._level = self._credit = self._doublings = 0.0
        self._begin()

    @property
    def next_at(self) -> float:
        return max(self.opens_at, self._next_at)

    def send(self, now: float) -> Sent:
        last = self._last or Sent(now, 0)
        passed = now - last.at
        is_at_pace = now - self.next_at < _SLACK_SECONDS
        self._level = min(self.burst, self._level + self.rate * passed) - 1.0
        self._contention.sent()
        self._calm_calls += not self._doublings
        if is_at_pace:  # a late call shows nothing about a faster pace
            self._raise_pace(now, passed)
        gap = 1.0 / self.pace
        if self._is_tested:
            gap = self._chance_test.gap_seconds(now, gap)
        self._next_at = max(self._next_at, now - _SLACK_SECONDS) + gap
        self._mark(last, now, is_at_pace=is_at_pace)
        self._last = Sent(now, last.number + 1)
        return self._last

    def pause(self, now: float, pause_seconds: float) -> None:
        """Hold all calls back for so long, and learn nothing from it."""
        self.opens_at = max(self.opens_at, now + pause_seconds)

    def throttled(self, sent: Sent, now: float, pause_seconds: float) -> None:
        """Record a 429, and pause."""
        self.pause(now, pause_seconds)
        # A 429 to a call that was in flight at the first one only lengthens the pause.
        if sent.at <= self._stopped_at:
            self._chance_test.refused_too(sent.at)
            return
        cycle = self._cycle_until(sent)
        self._record_shut(cycle, pause_seconds)
        self._record_chance(sent)
        self._since.append(cycle)
        # A long pause paces by itself: one call after it shows nothing.
        shows_rate = cycle.calls > 1 or pause_seconds <= _SHUT_SECONDS
        is_learned = shows_rate and self._is_learned(cycle, pause_seconds)
        if not self._doublings:
            self._usual_calls += 0.2 * (self._calm_calls - self._usual_calls)
            self._calm_calls = 0
        self._stopped_at = now
        self._pause_seconds = now + pause_seconds - sent.at
        self._restart(sent)
        if is_learned:
            self._begin()
        elif self._doublings and (self._contention.is_shared or cycle.calls < 0.5 * self._usual):
            self._held_seconds = self._doublings = 0.0  # a faster pace is refused more often
            self.pace = min(self.pace, self.rate)

    def assume(self, rate: float, now: float) -> None:
        """Keep to a rate that another process has learned, and go on to learn from there."""
        change = rate / self.rate
        self.burst = max(1.0, min(rate, self.burst * change))
        self.learned_rate = self.pace = self.rate = rate
        self._is_searching, self._calm_cycles = False, 3
        self._widest = self._log_excess = 0.0
        self._known.clear()
        if abs(math.log(change)) > _MUCH:
            self._since.clear()
        self._stopped_at = now + _SETTLE_SECONDS  # a 429 to an earlier call shows nothing about this rate
        self._restart(Sent(now, 0))
        self._before = None
        self._begin()

    def search_again(self, sent: Sent, now: float) -> None:
        self.learned_rate = None
        self._contention = Contention()
        self._is_searching, self._search_after = True, 0.0
        self._stopped_at = now
        self._restart(sent)
        self._before = None
        self._begin()

    def _restart(self, refused: Sent) -> None:
        self._last = Sent(refused.at, 0)
        self._marks, self._marked_pace = [], 0.0

    def _begin(self) -> None:
        self._held_seconds = self._level = self._doublings = 0.0
        self._credit = min(self.burst, self.rate * self._pause_seconds)

    def _mark(self, last: Sent, now: float, *, is_at_pace: bool) -> None:
        if not self._marked_pace or not is_at_pace:
            self._marks += [last, Sent(now, last.number)]
            self._marked_pace = self.pace
        elif abs(self.pace / self._marked_pace - 1.0) > _PACE_STEP:
            self._marks.append(last)
            self._marked_pace = self.pace
        # A cycle without end must not grow without end: every second mark goes, and the first two stay.
        if len(self._marks) > _MOST_MARKS:
            self._marks[2:] = self._marks[2::2]

    def _cycle_until(self, refused: Sent) -> Cycle:
        marks = [mark for mark in self._marks if mark.number < refused.number]
        marks.append(Sent(refused.at, refused.number - 1))
        began_at = marks[0].at
        points = [(mark.at - began_at, mark.number) for mark in marks]
        return Cycle(points, begins_full=self._stopped_at == -math.inf)

    def _record_shut(self, cycle: Cycle, pause_seconds: float) -> None:
        # A lane through which nothing goes is neither narrow nor contended for. Its pace begins again slowly.
        is_long_pause = pause_seconds > _SHUT_SECONDS
        # After a long pause one call shows nothing either.
        is_shut = cycle.calls <= is_long_pause
        if is_shut:
            self._times_shut += 1
        else:
            self._times_shut = 0
        if self._times_shut > 1 or (is_shut and self._is_searching):
            self.pace = min(self.pace, 1.0 / max(1.0, pause_seconds))
        most_counted = 3 if self._is_searching else 1
        if self._times_shut <= most_counted and not is_long_pause and not self.is_shared:
            # While the pace grows, a 429 was to be expected: it is no short cycle.
            self._contention.refused(math.inf if self._doublings else cycle.calls)

    def _record_chance(self, refused: Sent) -> None:
        test, contention = self._chance_test, self._contention
        was_chance = contention.is_chance
        test.refused(refused.at)
        if was_chance and contention.margin > _GIVEN_UP_MARGIN:
            test.reject()
        contention.is_chance = test.is_proven
        if contention.is_chance and not was_chance:
            contention.balance = min(0.0, contention.balance)

    @property
    def _is_tested(self) -> bool:
        margin = self._contention.margin
        if not margin or self._contention.is_chance or not self._is_frequent:
            return False
        return margin <= _TESTED_MARGIN or self._chance_test.has_begun

    @property
    def _usual(self) -> float:
        return max(5.0, self._usual_calls, self._calm_calls)

    @property
    def _is_frequent(self) -> bool:
        """Whether 429s come so often, at any pace, that a single one shows nothing about the bucket."""
        least = 0.0 if self._contention.is_chance else _FREQUENT
        return not self.is_shared and least < self._usual < _RARE

    def _is_learned(self, cycle: Cycle, pause_seconds: float) -> bool:
        before, self._before = self._before, None
        if before is not None and not cycle.calls:
            # The first call at the lower pace is refused too: the pace was not the reason.
            self.rate, self.burst = before
            self.learned_rate = self.pace = self.rate
            self._since.clear()
            return False
        if cycle.calls and self._is_searching:
            self._search(cycle, pause_seconds)
        elif cycle.calls and self._is_due(cycle) and not self._is_frequent:
            self._learn(joined(self._since), is_narrower=False)
        elif not self._is_searching and (alike := agreeing([*self._since], self._usual)):
            self._before = self.rate, self.burst
            self._learn(joined(alike), is_narrower=True)
        else:
            self._grow_by(cycle)
            return False
        self._since.clear()
        self.pace = self.rate
        return True

    def _grow_by(self, cycle: Cycle) -> None:
        # Where 429s are frequent at any pace, only growth that goes through proves a rate.
        fewest_calls = max(_MEANINGFUL_CALLS, 0.5 * self._usual)
        if self._is_frequent and cycle.calls >= fewest_calls:
            self.rate = max(self.rate, cycle.rate(self.burst))

    def _is_due(self, cycle: Cycle) -> bool:
        """Whether a 429 was to be expected."""
        # As others take a part of the tokens, so few calls show nothing.
        if self.is_shared:
            return cycle.calls >= _MEANINGFUL_CALLS
        return self._level < 1.0 + _DUE_SHARE * self._credit

    def _search(self, cycle: Cycle, pause_seconds: float) -> None:
        if self._held_seconds < max(1.0, cycle.seconds / 2):  # a burst shows the bucket's size, and little of its rate
            self.rate = cycle.calls / (cycle.seconds + pause_seconds)
            self.burst = float(cycle.calls)
            self._search_after = 0.0
        else:
            self._learn(cycle, is_narrower=False)
            self._is_searching = False

    def _learn(self, cycle: Cycle, *, is_narrower: bool) -> None:
        """Find the bucket that explains the last cycles; `is_narrower` if several 429s agree that it gives less."""
        rate, burst = self.rate, self.burst
        quiet, is_first = self._quiet_seconds(), self._is_searching
        # Where the lane gives more or less than before, the older cycles show another bucket.
        is_wider = cycle.rate(burst) / rate > 1.15 + 2 * cycle.uncertainty
        if is_narrower or is_wider:
            self._known.clear()
        self._known.append(cycle)
        likely_burst = self._likely_burst(cycle, quiet, is_wider=is_wider)
        least_burst = 1.0 if is_first else 0.6 * burst
        self.rate, self.burst = fit(self._known, likely_burst, least_burst)
        if not (is_first or is_narrower or cycle.calls >= _MEANINGFUL_CALLS):
            self.rate = max(rate / 2, self.rate)
        self.learned_rate = self.rate
        if self._calm_cycles > 1:
            self._widest = max(0.98 * self._widest, self.rate)
        # A 429 that came late shows room above the rate.
        if self._held_seconds > quiet and not is_narrower:
            self._log_excess = min(0.007, self._log_excess + 0.01)
        else:
            self._log_excess /= 2
        gave_more = is_wider or -self._level > 0.25 * burst + 3
        self._count_calm(is_changed=is_narrower or is_first, gave_more=gave_more)

    def _count_calm(self, *, is_changed: bool, gave_more: bool) -> None:
        if is_changed:
            self._calm_cycles = 0
        elif gave_more and not self._contention.is_shared:
            self._calm_cycles = min(self._calm_cycles, 2)
        else:
            self._calm_cycles += 1

    def _likely_burst(self, cycle: Cycle, quiet: float, *, is_wider: bool) -> float:
        burst, rate = self.burst, self.rate
        if self._is_searching:
            return self.pace / 4
        if is_wider:
            return max(self.pace / 4, burst)
        if self._doublings > 1:  # it was already growing, because the 429 came late
            return min(burst, max(0.85 * burst, 0.3 * rate))
        if self._held_seconds < quiet / 2 and cycle.calls >= _MEANINGFUL_CALLS:
            return max(burst, min(1.15 * burst, 1.5 * rate))
        return burst

    def _raise_pace(self, now: float, passed: float) -> None:
        elapsed = min(passed, max(1.0, 1.0 / self.pace))
        if self._is_searching and self._pause_seconds <= _SHUT_SECONDS:
            open_seconds = max(0.0, now - self.opens_at)
            elapsed = min(elapsed, open_seconds)  # a pause shows nothing about the pace
        self._held_seconds += elapsed
        if self._is_searching:
            target = self.pace if self._held_seconds < self._search_after else math.inf
        else:
            margin = self._log_excess - self._contention.margin
            target = self._intended_pace(elapsed) * math.exp(margin)
        doublings = min(_MOST_DOUBLINGS, elapsed / _DOUBLING_SECONDS)
        self.pace = min(target, self.pace * math.exp2(doublings))

    def _intended_pace(self, elapsed: float) -> float:
        rate, quiet = self.rate, self._quiet_seconds()
        spending = rate + min(_CATCH_UP_SHARE * rate, 0.5 * self._credit / quiet)
        # The 429 that is due does not come: the lane is wider than before.
        if self._held_seconds > quiet:
            doublings = self._doublings + elapsed / self._regrowth_seconds()
            self._doublings = min(_MOST_DOUBLINGS, doublings)
            return spending * (1 + 0.02 * math.exp2(self._doublings))
        if self._level > self._credit / 2 + 1:
            return rate * (1 + _BURST_SHARE)
        return rate + (spending - rate) * self._held_seconds / quiet

    def _regrowth_seconds(self) -> float:
        """Return the time in which the excess over the known pace doubles: longer where others use the lane too."""
        small_share = _SHUT_SHARE if self._contention.is_shared else _WIDE_SHARE
        if self.rate < small_share * self._widest:
            return 1.0
        margin = min(0.2, self._contention.margin)
        return max(1.0, 10 / self.pace) * (1 + 20 * margin)

    def _quiet_seconds(self) -> float:
        """Return how long no 429 is looked for: short while the lane is new, and while it is narrower than before."""
        most = min(_MOST_QUIET_SECONDS, max(_QUIET_SECONDS, _QUIET_CALLS / self.rate))
        # The longer the pause that a 429 costs, the more rarely one is looked for.
        quiet = max(most, _QUIET_PAUSES * self._pause_seconds)
        if not self._contention.is_shared:  # else others would be disturbed
            if self.rate < _NARROW_SHARE * self._widest:
                quiet = max(9.0, quiet / 6)
            usual_seconds = self._usual / self.rate
            quiet = min(quiet, max(8.0, 2 * usual_seconds))
        doublings = min(self._calm_cycles, 10)
        return min(quiet, _FIRST_QUIET_SECONDS * math.exp2(doublings))
