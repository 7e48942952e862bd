"""What is known of a lane: the token bucket that explains its 429s, and what else may explain them. Pure.

A single 429 is a hint. Several that came after about the same number of calls are proof of an empty bucket, because
chance spreads. Other users of the lane, and refusals at random, look alike to one client. So a small share of 429s is
accepted without a slower pace, and a larger one is answered with a slower pace, but never with one that is a small part
of the rate.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

_BISECTIONS = 15  # steps of the search for a rate, which halve its error
_INSTANT_SECONDS = 0.01  # the shortest stretch, so that calls at one instant have a finite rate
_PACE_STEP = 0.04
_MOST_MARKS = 96  # bounds the memory of a cycle; beyond it every second mark goes


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """Gains `rate` tokens per second, holds at most `burst`, and gives one to each call that it lets through."""

    rate: float
    burst: float


@dataclass(frozen=True, slots=True)
class Sent:
    """A call that was sent: at what monotonic time, and as which one since the last 429."""

    at: float
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """What was let through between two 429s, the pause after the first one included."""

    # seconds, and calls let through in them, in order; the pace is even within each.
    stretches: Sequence[tuple[float, int]]
    begins_full: bool = False  # no 429 came before it, so the bucket was full

    @property
    def calls(self) -> int:
        return sum(calls for _, calls in self.stretches)

    @property
    def seconds(self) -> float:
        return sum(seconds for seconds, _ in self.stretches)

    @property
    def uncertainty(self) -> float:
        return 0.005 + 2.0 / self.calls

    def rate(self, burst: float) -> float:
        """Return the lowest rate at which a bucket of this size could have let so many calls through."""
        low = 0.5 * self.calls / max(_INSTANT_SECONDS, self.seconds)
        high = 2.0 * max(calls / max(_INSTANT_SECONDS, seconds) for seconds, calls in self.stretches)
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


def joined(cycles: Iterable[Cycle]) -> Cycle:
    first, *others = cycles
    return Cycle(
        stretches=[stretch for cycle in (first, *others) for stretch in cycle.stretches],
        begins_full=first.begins_full,
    )


@dataclass(slots=True)
class CycleRecorder:
    """Records the calls since the last 429: where the pace changed, so that a few stretches describe them."""

    last: Sent | None = None  # the last call; None before the first one
    _marks: list[Sent] = field(default_factory=list)
    _pace: float = 0.0

    def send(self, now: float, pace: float, *, was_held_back: bool) -> Sent:
        last = self.last or Sent(now, 0)
        if not self._pace or not was_held_back:
            self._marks += [last, Sent(now, last.number)]
            self._pace = pace
        elif abs(pace / self._pace - 1.0) > _PACE_STEP:
            self._marks.append(last)
            self._pace = pace
        if len(self._marks) > _MOST_MARKS:
            self._marks[2:] = self._marks[2::2]
        self.last = Sent(now, last.number + 1)
        return self.last

    def until(self, refused: Sent, *, begins_full: bool) -> Cycle:
        marks = [mark for mark in self._marks if mark.number < refused.number]
        marks.append(Sent(refused.at, max(0, refused.number - 1)))
        stretches = [(after.at - before.at, after.number - before.number) for before, after in pairwise(marks)]
        return Cycle(stretches=[each for each in stretches if any(each)], begins_full=begins_full)

    def begin(self, refused: Sent) -> None:
        self.last, self._marks, self._pace = Sent(refused.at, 0), [], 0.0


_LIKELY_BURST_WEIGHT = 0.5


def fit(cycles: Sequence[Cycle], likely_burst: float, least_burst: float) -> TokenBucket:
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
    rates = [(math.log(cycle.rate(burst)), cycle.uncertainty**-2) for cycle in cycles]
    mean = sum(rate * weight for rate, weight in rates) / sum(weight for _, weight in rates)
    disagreement = sum(weight * (rate - mean) ** 2 for rate, weight in rates)
    unlikely = math.log(burst / max(1.0, likely_burst)) ** 2
    return disagreement + _LIKELY_BURST_WEIGHT * unlikely, TokenBucket(math.exp(mean), burst)


_LEAST_CALLS_PER_SECOND = 0.01  # the lowest rate learned
_MOST_LOG_EXCESS = 0.007  # how far above the rate the pace stays after 429s that came late, as a share
_CYCLES = 5  # cycles that the fit remembers
MEANINGFUL_CALLS = 6  # calls that make a cycle meaningful
_MOST_SHRINKING_SHARE = 0.6  # the smallest new size of the bucket, as a share of the old one


class RateChange(StrEnum):
    FOUND = "found"
    THE_SAME = "the same"
    NARROWER = "narrower"
    WIDER = "wider"


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    is_first: bool  # nothing was known before
    is_narrower: bool  # several 429s agree that the lane is narrower than the model
    is_shared: bool  # others seem to use the lane too
    is_overdue: bool  # the pace was already growing, because the 429 came late
    is_short: bool  # it came soon after the last one
    pace: float  # calls per second that could go
    level: float  # tokens that the model still had; below 0 if more went through
    slack: float  # 1 right after the last 429, -1 at the end of the quiet time, less later


@dataclass(slots=True)
class LaneModel:
    bucket: TokenBucket  # the token bucket that explains them best
    widest: float = 0.0  # calls per second that it once let through
    log_excess: float = 0.0  # the logarithm of how far above the rate the pace stays
    calm_cycles: int = 0  # regular cycles since the last change
    _cycles: deque[Cycle] = field(default_factory=lambda: deque(maxlen=_CYCLES))

    def learn(self, cycle: Cycle, seen: Circumstances) -> RateChange:
        before = self.bucket
        is_wider = cycle.rate(before.burst) / before.rate > 1.15 + 2 * cycle.uncertainty
        if seen.is_narrower or is_wider:
            self._cycles.clear()
        self._cycles.append(cycle)
        self._fit(cycle, seen, is_wider=is_wider)
        is_late = seen.slack < -1 and not seen.is_narrower
        self.log_excess = min(_MOST_LOG_EXCESS, self.log_excess + 0.01) if is_late else self.log_excess / 2
        gave_more = is_wider or -seen.level > 0.25 * before.burst + 3
        self._settle(is_new=seen.is_narrower or seen.is_first, is_unsettled=gave_more and not seen.is_shared)
        if seen.is_first:
            return RateChange.FOUND
        return RateChange.NARROWER if seen.is_narrower else RateChange.WIDER if is_wider else RateChange.THE_SAME

    def _fit(self, cycle: Cycle, seen: Circumstances, *, is_wider: bool) -> None:
        before = self.bucket
        # Else one call more means another rate.
        is_meaningful = seen.is_first or seen.is_narrower or cycle.calls >= MEANINGFUL_CALLS
        least = _LEAST_CALLS_PER_SECOND if is_meaningful else before.rate / 2
        least_burst = 1.0 if seen.is_first else _MOST_SHRINKING_SHARE * before.burst
        fitted = fit(self._cycles, self._likely_burst(cycle, seen, is_wider=is_wider), least_burst)
        self.bucket = replace(fitted, rate=max(least, fitted.rate))
        if self.calm_cycles > 1:
            self.widest = max(0.98 * self.widest, fitted.rate)

    def _settle(self, *, is_new: bool, is_unsettled: bool) -> None:
        self.calm_cycles = 0 if is_new else min(self.calm_cycles, 2) if is_unsettled else self.calm_cycles + 1

    def _likely_burst(self, cycle: Cycle, seen: Circumstances, *, is_wider: bool) -> float:
        burst, rate = self.bucket.burst, self.bucket.rate
        if seen.is_first:
            return seen.pace / 4
        if is_wider:
            return max(seen.pace / 4, burst)
        if seen.is_overdue:
            return min(burst, max(0.85 * burst, 0.3 * rate))
        if seen.slack > 0 and cycle.calls > _CYCLES:
            return max(burst, min((1.5 if seen.is_short else 1.15) * burst, 1.5 * rate))
        return burst


_FEWEST_AGREEING = 3  # 429s that can agree
_CALLS_DIFFER, _CALLS_DIFFER_SHARE = 6.0, 0.2  # how far their calls may differ, as calls and as a share
_CYCLES_PROOF = 300.0  # how many times likelier than chance is proof
_USUAL_CALLS = 300.0  # calls between two 429s, before any were counted
_LEAST_USUAL_CALLS = 5.0  # and at least
_CHANCE_CALLS, _RARE_CALLS = 25.0, 150.0  # chance may refuse one of so many calls, unless 429s are rarer
_CYCLE_WEIGHT = 0.2  # the weight of one cycle in what is usual
_MOST_CYCLES = 64  # cycles that are remembered


@dataclass(slots=True)
class Refusals:
    """The cycles since something was last learned; each ended with a 429 that may be a mere hint."""

    _usual: float = _USUAL_CALLS
    _calm: int = 0
    _cycles: deque[Cycle] = field(default_factory=lambda: deque(maxlen=_MOST_CYCLES))

    def add(self, cycle: Cycle) -> None:
        self._cycles.append(cycle)

    @property
    def usual_calls(self) -> float:
        return max(_LEAST_USUAL_CALLS, self._usual, self._calm)

    def sent(self) -> None:
        self._calm += 1

    def count(self) -> None:
        self._usual += _CYCLE_WEIGHT * (self._calm - self._usual)
        self._calm = 0

    def forget(self) -> None:
        self._cycles.clear()

    def whole(self) -> Cycle:
        return joined(self._cycles)

    def agreeing(self) -> Sequence[Cycle]:
        """Return the last cycles, if they are so alike that chance does not explain them; else none.

        By chance, numbers of calls spread as far as their mean. An empty bucket gives nearly the same number each time.
        """
        cycles, usual = list(self._cycles), self.usual_calls
        if usual < _RARE_CALLS:
            usual = min(_CHANCE_CALLS, usual)
        for number in range(_FEWEST_AGREEING, len(cycles) + 1):
            calls = [cycle.calls for cycle in cycles[-number:]]
            width = _CALLS_DIFFER + _CALLS_DIFFER_SHARE * sum(calls) / number
            if max(calls) - min(calls) > width:
                break
            chance = (width / usual) ** (number - 1) * math.exp(-sum(calls) / usual)
            if any(calls) and chance * _CYCLES_PROOF < 1.0:
                return cycles[-number:]
        return ()


FIRST_QUIET_SECONDS = 4.0  # the quiet time of a new lane, which doubles with each calm cycle
# The quiet time of a known lane: the longest of three, up to the fourth.
_QUIET_SECONDS, _QUIET_CALLS, _QUIET_PAUSES, _MOST_QUIET_SECONDS = 45.0, 400, 25, 240.0
_QUIET_CYCLES, _LEAST_QUIET_SECONDS = 2, 8.0  # where 429s are frequent anyway: in usual cycles, and at least
_NARROW_PART, _LEAST_NARROW_SECONDS = 6, 9.0  # in a lane that is narrower than before: as a part, and at least


def quiet_seconds(
    rate: float, pause_seconds: float, usual_calls: float | None, *, is_narrow: bool, calm_cycles: int
) -> float:
    """Return the quiet time: short while the lane is new, and while it is narrower than before.

    `usual_calls` are the calls from one 429 to the next; None where others use the lane too, who would be disturbed.
    """
    full = min(_MOST_QUIET_SECONDS, max(_QUIET_SECONDS, _QUIET_PAUSES * pause_seconds, _QUIET_CALLS / rate))
    if usual_calls is not None:
        if is_narrow:
            full = max(_LEAST_NARROW_SECONDS, full / _NARROW_PART)
        full = min(full, max(_LEAST_QUIET_SECONDS, _QUIET_CYCLES * usual_calls / rate))
    return min(full, FIRST_QUIET_SECONDS * math.exp2(min(calm_cycles, 10)))


_STEP = 0.03  # how much one 429 lowers the pace, as its logarithm
_CALLS_PER_REFUSAL = 80  # calls that raise it again by as much: the accepted share of 429s is one of so many
_FREE_REFUSALS = 6  # 429s without effect on the pace at first, and again after so many calls
_SHORT_CALLS, _SHORT_FACTOR = 8, 6  # two cycles of so few calls together lower the pace more, up to so many times
# A 429 to the first call after a pause counts so many times, until so many calls went through in a row: others took the
# token that the service has announced.
_NONE_FACTOR, _CALM_CALLS = 8, 40
_MOST = 1.0  # the most that it lowers the pace: to about a third
_SHARED = 0.1  # from here on other users of the lane are assumed


@dataclass(slots=True)
class Contention:
    """A balance: each 429 adds, each call takes away; `margin` is the logarithm of the rate over the pace."""

    _balance: float = -_FREE_REFUSALS * _STEP
    _calls_before: float = _SHORT_CALLS
    _is_new: bool = True
    _accepted_share: float | None = None

    @property
    def margin(self) -> float:
        return max(0.0, self._balance)

    @property
    def is_shared(self) -> bool:
        return self._balance > _SHARED and not self.is_chance

    @property
    def is_chance(self) -> bool:
        return self._accepted_share is not None

    def accept(self, share: float | None) -> None:
        """Accept another share of 429s without a slower pace, since chance refuses them; None for the usual share."""
        self._accepted_share = share
        if share is not None:
            self._balance = min(0.0, self._balance)

    def sent(self) -> None:
        share = self._accepted_share or 1 / _CALLS_PER_REFUSAL
        self._balance = max(-_FREE_REFUSALS * _STEP, self._balance - _STEP * share)

    def refused(self, calls: float) -> None:
        shortness = max(0.0, 1.0 - (calls + self._calls_before) / _SHORT_CALLS)
        self._is_new = self._is_new and calls < _CALM_CALLS
        step = _STEP
        if not self.is_chance:
            step *= 1.0 + _SHORT_FACTOR * shortness + _NONE_FACTOR * (self._is_new and not calls)
        self._calls_before = calls
        self._balance = min(_MOST, self._balance + step)


# The time between two calls of a group is a part of the time until a 429 comes, so that it stops none of them.
_GAPS, _MOST_GAP_SECONDS = 4, 0.008
_LONGEST_SECONDS = 0.05  # a group that took longer shows nothing
_FEWEST_CALLS, _MOST_CALLS = 2, 4  # of a group: those of a second, within these
# How often each next call goes through after a 429: by chance, and if others use the lane.
_THROUGH_BY_CHANCE, _THROUGH_IF_SHARED = 0.96, 0.6
_PROOF, _DISPROOF = 4.0, -2.5  # evidence, as logarithms of how much likelier chance is
_REST = 20  # 429s until groups are sent again
_MOST_GROUPS = 16  # groups whose answers may still come


@dataclass(slots=True)
class ChanceTest:
    """Are calls refused by chance, at any pace? It sends groups of calls and weighs what they show.

    An empty bucket that others use too refuses the next calls of a group as well. Chance refuses one, and the next ones
    go through. Several groups decide, by a sequential probability ratio test (Wald).
    """

    _evidence: float = 0.0
    _resting: int = 0
    _calls: int = 0
    _refusals: int = 0
    _size: int = 0
    _gap: float = _MOST_GAP_SECONDS
    _sent: list[float] = field(default_factory=list)
    _groups: deque[list[float]] = field(default_factory=lambda: deque(maxlen=_MOST_GROUPS))
    _next_ones: list[float] = field(default_factory=list)

    @property
    def has_begun(self) -> bool:
        return bool(self._groups)

    @property
    def is_proven(self) -> bool:
        return self._evidence > _PROOF

    @property
    def share(self) -> float:
        return self._refusals / max(1, self._calls)

    def gap_seconds(self, now: float, usual: float) -> float:
        if self._resting > 0:
            return usual
        self._calls += 1
        if not self._sent:
            self._size = max(_FEWEST_CALLS, min(_MOST_CALLS, int(1.0 / usual)))
        self._sent.append(now)
        if len(self._sent) < self._size:
            return self._gap
        if now - self._sent[0] < _LONGEST_SECONDS:
            self._groups.append(self._sent)
        self._sent = []
        return max(0.0, self._size * usual - (self._size - 1) * self._gap)

    def refused(self, sent_at: float, now: float) -> None:
        self._weigh(is_through=True)
        self._gap = min(_MOST_GAP_SECONDS, (now - sent_at) / _GAPS)
        group = next((group for group in self._groups if sent_at in group), [])
        self._next_ones = [other for other in group if other > sent_at]
        self._resting -= 1
        self._refusals += 1

    def refused_too(self, sent_at: float) -> None:
        if sent_at in self._next_ones:
            self._weigh(is_through=False)

    def reject(self) -> None:
        self._evidence, self._resting, self._calls, self._refusals = 0.0, _REST, 0, 0

    def _weigh(self, *, is_through: bool) -> None:
        number, self._next_ones = len(self._next_ones), []
        if number:
            chance, shared = _THROUGH_BY_CHANCE**number, _THROUGH_IF_SHARED**number
            self._evidence += math.log(chance / shared if is_through else (1 - chance) / (1 - shared))
        if self._evidence < _DISPROOF:
            self.reject()
