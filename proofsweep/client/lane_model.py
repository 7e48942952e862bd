"""What is known of a lane: the token bucket that explains its 429s, and who shares it. Pure."""

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from itertools import pairwise

# The part of a class's rate that is kept for the less urgent ones, so that none of them stands still.
_KEPT_SHARE = 0.15
# Within which time the slots that a less urgent process has in hand should be used. The contract states no
# lifetime of a slot.
_SLOT_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """Gains `rate` tokens per second, holds at most `burst`, and gives one to each call that it lets through."""

    rate: float
    burst: float


class LanePriority(IntEnum):
    """Which processes go first in a lane, the most urgent first."""

    INGEST = 0
    VERIFY = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One active process, as it was when it wrote last."""

    priority: int
    rate: float  # calls per second that it keeps to
    let_in: float = 0.0  # calls per second that the service has let in for it lately
    need: float | None = None  # calls per second that it can use; None for as many as it gets
    beat: int = 0  # counts what it wrote; it is alive while this grows
    seconds: float = 0.0  # for how long it has been one
    pause_seconds: float = 0.0  # what was left then of a pause that the service has asked it for
    refused: int = 0  # calls answered with 429 since it began
    slots: int = 0  # that it has in hand


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """What the processes with one key have told each other."""

    bucket: TokenBucket | None = None  # what the lane is taken for; None while nobody has an idea
    learned_at: float = 0.0  # when the rate was last learned, in epoch seconds of the machine that did
    keeper: str = ""  # the token of the process that finds the rate for all
    members: Mapping[str, Member] = field(default_factory=dict)


def fair_rates(rate: float, members: Mapping[str, Member], floor_rate: float) -> dict[str, float]:
    """Divide a rate by need: the more urgent first, those alike evenly.

    Each less urgent one keeps the floor rate, and what its slots in hand need, which are short-lived; all of them
    together as far as that is a small part.
    """
    rates: dict[str, float] = {}
    for priority in sorted({member.priority for member in members.values()}):
        later = [member for member in members.values() if member.priority > priority]
        wanted = sum(max(floor_rate, member.slots / _SLOT_SECONDS) for member in later)
        kept = min(wanted, _KEPT_SHARE * rate)
        needs = {token: member.need for token, member in members.items() if member.priority == priority}
        given = _divided(rate - kept, needs)
        rates |= given
        rate -= sum(given.values())
    return rates


def _divided(rate: float, needs: Mapping[str, float | None]) -> dict[str, float]:
    given: dict[str, float] = {}
    by_need = sorted(needs, key=lambda token: (_endless(needs[token]), token))
    for count, token in enumerate(by_need):
        given[token] = min(_endless(needs[token]), rate / (len(by_need) - count))
        rate -= given[token]
    return given


def _endless(need: float | None) -> float:
    return float("inf") if need is None else need


def keeper_of(present: str, members: Mapping[str, Member], *, is_known: bool) -> str:
    """Name the process that finds the rate for all: the present one, but to search for it one that has much to do."""
    if present in members and (is_known or members[present].need is None):
        return present
    return max(members, key=lambda token: (members[token].need is None, members[token].rate, token), default="")


_BISECTIONS = 15  # steps of the search for a rate, which halve its error
_INSTANT_SECONDS = 0.01  # the shortest stretch, so that calls at one instant have a finite rate
_PACE_STEP = 0.04
_MOST_MARKS = 96  # bounds the memory of a cycle; beyond it every second mark goes


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
        """How far the rate may be off, as a share of it: by a token or two, and by the clock."""
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
    """Join cycles that follow each other; there must be at least one."""
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
    """Return a figure of how far the cycles disagree, and the bucket with their common rate."""
    rates = [(math.log(cycle.rate(burst)), cycle.uncertainty**-2) for cycle in cycles]
    mean = sum(rate * weight for rate, weight in rates) / sum(weight for _, weight in rates)
    disagreement = sum(weight * (rate - mean) ** 2 for rate, weight in rates)
    unlikely = math.log(burst / max(1.0, likely_burst)) ** 2
    return disagreement + _LIKELY_BURST_WEIGHT * unlikely, TokenBucket(math.exp(mean), burst)


# All chosen, and checked together in benchmarks/simulation.
_LEAST_CALLS_PER_SECOND = 0.01  # the lowest rate learned
_MOST_LOG_EXCESS = 0.007  # how far above the rate the pace stays after 429s that came late, as a share
_CYCLES = 5  # cycles that the fit remembers
_MEANINGFUL_CALLS = 6  # calls that make a cycle meaningful
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
    """Learns from the cycles that emptied the bucket."""

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
        is_meaningful = seen.is_first or seen.is_narrower or cycle.calls >= _MEANINGFUL_CALLS
        least = _LEAST_CALLS_PER_SECOND if is_meaningful else before.rate / 2
        least_burst = 1.0 if seen.is_first else _MOST_SHRINKING_SHARE * before.burst
        fitted = fit(self._cycles, self._likely_burst(cycle, seen, is_wider=is_wider), least_burst)
        self.bucket = replace(fitted, rate=max(least, fitted.rate * _surplus(cycle, seen)))
        if self.calm_cycles > 1:
            self.widest = max(0.98 * self.widest, fitted.rate)

    def _settle(self, *, is_new: bool, is_unsettled: bool) -> None:
        self.calm_cycles = 0 if is_new else min(self.calm_cycles, 2) if is_unsettled else self.calm_cycles + 1

    def _likely_burst(self, cycle: Cycle, seen: Circumstances, *, is_wider: bool) -> float:
        """Guess the size of the bucket: as before, or smaller if the 429 came late, or larger if it came early."""
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


def _surplus(cycle: Cycle, seen: Circumstances) -> float:
    """Return a factor for the rate after a cycle that let more through than the model has.

    A larger bucket would explain cycles of one kind as well, and then the rate would never be found.
    """
    return 1.0 if seen.is_first else 1 + 2 * min(0.05, max(0.0, -seen.level - 3.0) / cycle.calls)
