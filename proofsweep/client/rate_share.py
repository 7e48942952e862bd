"""How the processes of one key share its lane, and what one of them makes of it. Pure: the time is an argument."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

from proofsweep.client.lane_model import RateChange, Sent, TokenBucket

_KEPT_SHARE = 0.15  # of a class's rate, for the less urgent ones, so that none of them stands still
# Within which time the slots that a process has in hand should be used. The contract states no lifetime of a slot.
_SLOT_SECONDS = 15.0


class LanePriority(IntEnum):
    """Which processes go first in a lane, the most urgent first."""

    INGEST = 0
    VERIFY = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
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


_VOLLEY_SECONDS = 2.5  # 429s so soon after the last ones belong to them
_LONG_SECONDS = 20.0  # a cycle so long shows the rate by its mean; a shorter one shows that the pace is too fast
# The least that a short cycle lowers the pace, the most that one cycle does, and the most after several short ones.
_LEAST_FALL, _FALL, _MOST_FALL = 0.97, 0.95, 0.7
_SHORT_ONES = 3
# The pace after a 429, and at the end of the quiet time, as parts of the rate.
_FIRST_PART, _LAST_PART = 0.98, 1.01
# The quiet time: the longer of both, up to the third; short at first, and in a lane that is narrower than it was.
_QUIET_SECONDS, _QUIET_CALLS, _MOST_QUIET_SECONDS = 45.0, 400.0, 240.0
_FIRST_QUIET_SECONDS, _FIRST_QUIET_CALLS = 10.0, 80.0
_NARROW_SHARE, _NARROW_PART = 0.7, 5.0
# The excess with which growth begins, and how fast it doubles.
_FIRST_EXCESS, _DOUBLING_SECONDS = 0.01, 8.0
_TRIED_SHARE = 0.85  # the pace counts as tried while so much of it is let in


@dataclass(slots=True)
class LaneKeeper:
    """Finds the rate of a shared lane; times are monotonic seconds of one clock."""

    rate: float  # calls per second that the lane is taken to let through
    pace: float = 0.0  # calls per second that all may send together now
    _widest: float = 0.0
    _at: float = -math.inf
    _since: float = 0.0
    _let_in: float = 0.0
    _tried_seconds: float = 0.0
    _short_ones: int = 0
    _calm: int = 0

    def look(self, now: float, let_in: float, *, is_refused: bool) -> float:
        if self._at == -math.inf:
            self._at = self._since = now
            self.pace = self.rate
        passed, self._at = now - self._at, now
        self._let_in += let_in * passed
        if is_refused and now - self._since > _VOLLEY_SECONDS:
            self._learn(now)
        if let_in > _TRIED_SHARE * self.pace:
            self._tried_seconds += passed
        self.pace = self.rate * self._part()
        return self.pace

    def _learn(self, now: float) -> None:
        seconds = now - self._since
        mean, is_long = self._let_in / seconds, seconds >= _LONG_SECONDS
        self._short_ones = 0 if is_long else self._short_ones + 1
        fall = _MOST_FALL if self._short_ones >= _SHORT_ONES else _FALL
        self.rate = max(fall * self.pace, min(mean, self.pace if is_long else _LEAST_FALL * self.pace))
        self._calm = min(self._calm + 1, 10) if is_long else 0 if fall == _MOST_FALL else min(self._calm, 2)
        if is_long:
            self._widest = max(0.98 * self._widest, self.rate)
        self._since, self._let_in, self._tried_seconds = now, 0.0, 0.0

    def _part(self) -> float:
        quiet = min(_MOST_QUIET_SECONDS, max(_QUIET_SECONDS, _QUIET_CALLS / self.rate))
        if self.rate < _NARROW_SHARE * self._widest:
            quiet /= _NARROW_PART
        first = max(_FIRST_QUIET_SECONDS, _FIRST_QUIET_CALLS / self.rate)
        quiet = min(quiet, first * math.exp2(self._calm))
        if self._tried_seconds <= quiet:
            return _FIRST_PART + (_LAST_PART - _FIRST_PART) * self._tried_seconds / quiet
        doublings = min(30.0, (self._tried_seconds - quiet) / _DOUBLING_SECONDS)
        return _LAST_PART + _FIRST_EXCESS * (math.exp2(doublings) - 1)


_SLACK_SECONDS = 0.02  # how late a call may go and still count as sent at the pace


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneShare:
    """This process's part of a lane that others use too."""

    rate: float  # calls per second that are this process's part
    until: float = math.inf  # monotonic; what is not renewed by then is not known any more
    bucket: TokenBucket | None = None  # what the whole lane is taken for
    yields: bool = False  # a more urgent process goes first


@dataclass(slots=True)
class LaneUse:
    calls: int = 0
    let_in: int = 0  # answered, and not with 429
    held_back: int = 0  # calls that would have gone earlier at a faster pace
    waits: bool = False  # a call waits for its turn now

    def sent(self) -> None:
        self.calls += 1
        self.held_back += self.waits
        self.waits = False

    @property
    def is_hungry(self) -> bool:
        return self.waits if not self.calls else 2 * self.held_back >= self.calls


@dataclass(slots=True)
class KeptPace:
    """Paces calls at a rate that is given; a 429 only pauses them. It has what the call queue asks of a pacer."""

    share: LaneShare
    opens_at: float = -math.inf
    rate_change: RateChange | None = None
    _next_at: float = -math.inf
    _number: int = 0

    @property
    def pace(self) -> float:
        return self.share.rate

    @property
    def learned_rate(self) -> float | None:
        return None if self.share.bucket is None else self.share.bucket.rate

    @property
    def next_at(self) -> float:
        return max(self.opens_at, self._next_at)

    def take(self, share: LaneShare, now: float) -> None:
        if share.rate > self.share.rate:
            self._next_at = min(self._next_at, now + 1.0 / share.rate)
        self.share = share

    def send(self, now: float) -> Sent:
        self._next_at = max(self._next_at, now - _SLACK_SECONDS) + 1.0 / self.share.rate
        self._number += 1
        return Sent(now, self._number)

    def pause(self, now: float, pause_seconds: float) -> None:
        self.opens_at = max(self.opens_at, now + pause_seconds)

    def throttled(self, _sent: Sent, now: float, pause_seconds: float) -> None:
        """Pause after a 429, and go on at another moment: calls of processes that go at the same one are too many."""
        self.pause(now, pause_seconds)
        # What is beyond the millisecond is as good as chance.
        self._next_at = self.opens_at + now * 1_000 % 1.0 / self.share.rate

    def search_again(self, _sent: Sent, _now: float) -> None:
        """Leave the search for a rate to a process that is alone."""


LEASE_SECONDS = 5.0
LOOK_SECONDS = 1.0
GONE_SECONDS = 11.0
LEAST_PAUSE_SECONDS = 0.5
_MOST_PAUSE_SECONDS = 120.0
_WORTH_TELLING = 0.03
_CHANGE, _LEAST_CHANGE = 0.25, 1.0
_WAITING_RATE, _SEARCH_SECONDS = 0.1, 15.0
_SPARE_NEED, _LEAST_NEED = 1.3, 0.5
_CALLS_OF_NEED, _LONGEST_SECONDS_OF_NEED = 10, 30.0
_CALLS_OF_HUNGER = 2
_LET_IN_SECONDS = 4.0
_AT_ONCE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneReport:
    bucket: TokenBucket | None  # what its pacer takes the whole lane for; None while that is not known
    use: LaneUse  # its calls since the last report
    pause_seconds: float = 0.0  # what is left of a pause that the service has asked it for
    refused: int = 0  # calls answered with 429 since the process began
    slots: int = 0  # that it has in hand


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    share: LaneShare | None  # this process's part; None if it is to find the lane alone
    pause_seconds: float = 0.0  # how long the service has asked another process to wait
    news: Lane | None = None  # what to write; None if nothing is worth telling


@dataclass(slots=True, kw_only=True)
class LaneMember:
    """One process in the lane; times are seconds of its own monotonic clock, and no other clock is compared with it."""

    token: str
    priority: LanePriority
    floor_rate: float
    _report: LaneReport | None = None
    _since: float = math.inf
    _noted_at: float | None = None
    _let_in: float = 0.0
    _need: float | None = None
    _used: LaneUse = field(default_factory=LaneUse)
    _used_since: float | None = None
    _heard: dict[str, tuple[int, float, int]] = field(default_factory=dict)
    _looked_at: float = -math.inf
    _beat: int = 0
    _told: Member | None = None
    _told_at: float = -math.inf
    _paused_until: float = -math.inf
    _keeper: LaneKeeper | None = None
    _refused_before: int = 0

    def note(self, report: LaneReport, now: float) -> None:
        self._report, use = report, report.use
        self._since = min(self._since, now)
        if self._noted_at is not None and now > self._noted_at:
            passed = now - self._noted_at
            self._let_in += (use.let_in / passed - self._let_in) * -math.expm1(-passed / _LET_IN_SECONDS)
        self._noted_at = now
        self._used_since = now if self._used_since is None else self._used_since
        self._used.calls += use.calls
        self._used.held_back += use.held_back
        self._used.waits = use.waits
        seconds = now - self._used_since
        if self._is_need_clear(seconds):
            needed = _SPARE_NEED * self._used.calls / seconds + _LEAST_NEED
            self._need = None if self._used.is_hungry else needed
            self._used, self._used_since = LaneUse(), now

    def _is_need_clear(self, seconds: float) -> bool:
        used = self._used
        if used.is_hungry and self._need is not None and used.calls + used.waits >= _CALLS_OF_HUNGER:
            return True
        is_enough = used.calls >= _CALLS_OF_NEED or not (used.calls or used.waits)
        return seconds >= LEASE_SECONDS and (is_enough or seconds >= _LONGEST_SECONDS_OF_NEED)

    def meet(self, lane: Lane, now: float, *, epoch_seconds: float = 0.0) -> Meeting:
        pause_seconds, is_refused = self._hear(lane, now)
        others = {token: lane.members[token] for token in self._heard}
        is_keeper = lane.keeper == self.token or not others
        bucket = self._kept(lane, others, now, is_refused=is_refused) if is_keeper else lane.bucket
        members = others | {self.token: self._as_member(bucket, others, now)}
        keeper = keeper_of(lane.keeper, members, is_known=bucket is not None)
        share = None
        is_searched = keeper != self.token and members[keeper].seconds < _SEARCH_SECONDS
        if others and (bucket is not None or is_searched):
            yields = any(each.priority < self.priority and each.need is None for each in others.values())
            share = LaneShare(rate=members[self.token].rate, bucket=bucket, until=now + GONE_SECONDS, yields=yields)
        met = Meeting(share=share, pause_seconds=pause_seconds)
        if not self._is_news(lane, members[self.token], bucket, keeper, now):
            return met
        learned_at = epoch_seconds if is_keeper else lane.learned_at
        return replace(met, news=Lane(bucket=bucket, learned_at=learned_at, keeper=keeper, members=members))

    def told(self, lane: Lane, now: float) -> None:
        self._told, self._told_at = lane.members[self.token], now
        self._paused_until = now + self._told.pause_seconds

    def leave(self, lane: Lane) -> Lane:
        members = {token: member for token, member in lane.members.items() if token != self.token}
        bucket = self._known_report.bucket if lane.keeper == self.token else lane.bucket
        return Lane(
            bucket=bucket,
            learned_at=lane.learned_at,
            keeper=keeper_of(lane.keeper, members, is_known=bucket is not None),
            members=members,
        )

    @property
    def _known_report(self) -> LaneReport:
        assert self._report is not None, "note comes first"  # noqa: S101
        return self._report

    def _hear(self, lane: Lane, now: float) -> tuple[float, bool]:
        pause_seconds, is_refused, before = 0.0, False, self._heard
        since_look, self._looked_at, self._heard = now - self._looked_at, now, {}
        for token, member in lane.members.items():
            beat, heard_at, refused = before.get(token, (-1, now, member.refused))
            if token == self.token or (beat == member.beat and now - heard_at > GONE_SECONDS):
                continue
            if beat != member.beat:
                heard_at = now
                pause_seconds = max(pause_seconds, member.pause_seconds - since_look)
            is_refused = is_refused or member.refused > refused
            self._heard[token] = (member.beat, heard_at, member.refused)
        return min(_MOST_PAUSE_SECONDS, pause_seconds), is_refused

    def _as_member(self, bucket: TokenBucket | None, others: dict[str, Member], now: float) -> Member:
        rate = _WAITING_RATE
        if bucket is not None:
            wanted = others | {self.token: Member(priority=self.priority, rate=0.0, need=self._need)}
            fair = fair_rates(bucket.rate, wanted, self.floor_rate)[self.token]
            room = bucket.rate - sum(member.rate for member in others.values())
            rate = min(fair, max(room, _AT_ONCE * fair))
        return Member(
            priority=self.priority,
            rate=rate,
            let_in=self._let_in,
            need=self._need,
            beat=self._beat + 1,
            seconds=now - self._since,
            pause_seconds=self._known_report.pause_seconds,
            refused=self._known_report.refused,
            slots=self._known_report.slots,
        )

    def _kept(self, lane: Lane, others: dict[str, Member], now: float, *, is_refused: bool) -> TokenBucket | None:
        own = self._known_report.bucket
        if not others or (lane.bucket is None and own is None):
            self._keeper = None
            return own
        known = lane.bucket or own or TokenBucket(_WAITING_RATE, 1.0)
        if self._keeper is None:
            self._keeper = LaneKeeper(known.rate if own is None else own.rate)
        is_refused = is_refused or self._known_report.refused > self._refused_before
        self._refused_before = self._known_report.refused
        let_in = self._let_in + sum(member.let_in for member in others.values())
        return TokenBucket(self._keeper.look(now, let_in, is_refused=is_refused), known.burst)

    def _is_news(self, lane: Lane, own: Member, bucket: TokenBucket | None, keeper: str, now: float) -> bool:
        told = self._told if self.token in lane.members else None
        is_news = (
            told is None
            or now - self._told_at >= LEASE_SECONDS
            or own.refused != told.refused
            or _differ(own.rate, told.rate)
            or abs(own.let_in - told.let_in) > max(_LEAST_CHANGE, _CHANGE * own.let_in)
            or now + own.pause_seconds > max(now, self._paused_until) + LEAST_PAUSE_SECONDS
            or (keeper == self.token != lane.keeper)
            or _differ(0.0 if bucket is None else bucket.rate, 0.0 if lane.bucket is None else lane.bucket.rate)
        )
        if is_news:
            self._beat += 1
        return is_news


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > _WORTH_TELLING * max(one, other)
