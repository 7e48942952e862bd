"""How the processes of one key share its rate limit, and its pauses. Pure: times are arguments.

Each keeps a lease where the others can read it: its weight, and the newest rate that it knows of. Each takes its
weight's part of the rate, among the weights of those that live. A pause stands in one object that all of them read and
write. Nobody asks, and nobody answers. The clocks of two machines are never compared.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

LOOK_SECONDS = 1.0  # a process looks at the leases of the others so often
LEASE_SECONDS = 5.0  # and writes its own so often, or when it has news
GONE_SECONDS = 12.0  # a lease that has not changed for so long is a dead process's: two may be late
_FORGOTTEN_SECONDS = 30.0  # and so much later it may be deleted: a process that lives after all writes it again
READ_SECONDS = 0.2  # a process reads so often whether another was told a pause
_LEAST_PAUSE_SECONDS = 0.02  # a pause that ends by less later than the one that all know is not written
_MOST_PAUSE_SECONDS = 120.0  # what is told is heeded for no longer: then a call of one's own shows what holds
_CLOCK_SECONDS = 1.0  # how far two processes may differ in the service's time: it tells whole seconds
_IDLE_PART = 0.1  # of its weight, while a process sends less than its part
_HUNGER_WEIGHT = 0.3  # of one look in whether it does
_FOUND_WEIGHT = 0.5  # of a new rate in the known one, as logarithms: one process alone sees few calls
_CHANGE = 0.03  # a change of the part by less is no news


class Weight(IntEnum):
    """A part of the rate limit: new files are waited for."""

    INGEST = 4
    VERIFY = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLease:
    """What one process tells the others."""

    weight: float
    writes: int = 0  # counts what it wrote; it is alive while this grows
    rate: float | None = None  # calls per second of all processes together; None until one is known
    learned: int = 0  # which rate is the newest: one more than any that was seen; 0 for one of an earlier run


@dataclass(frozen=True, slots=True, kw_only=True)
class RateReport:
    """What a process knows by itself."""

    learned_rate: float | None  # calls per second of its own, as its 429s show; None until one was due
    is_hungry: bool  # calls wait for their turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What follows: the `rate` to keep to from now on (None: as before), and the lease to write."""

    part: float  # of the whole; 1 for a process that is alone
    rate: float | None
    lease: RateLease | None


@dataclass(slots=True, kw_only=True)
class RateShare:
    """One process's part. Times are seconds of its own monotonic clock, which is compared with no other clock."""

    token: str
    weight: float
    known: float | None = None  # calls per second of all processes together, as an earlier run learned it
    part: float = 1.0
    turn_seconds: float = 0.0  # how much later than the process that was told this one begins again after its pause
    _own: RateLease = field(init=False)
    _wrote_at: float = -math.inf
    _hunger: float = 1.0
    _known_rate: float | None = None  # that its pacer had when it was last looked at
    _heard: dict[str, tuple[int, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._own = RateLease(weight=self.weight, rate=self.known)

    def look(self, leases: Mapping[str, RateLease], report: RateReport, now: float) -> Share:
        others = self._living(leases, now)
        weight = self._weight_by(report)
        whole, learned = self._newest_rate(others, report)
        part = weight / (weight + sum(lease.weight for lease in others))
        is_other_part = abs(part - self.part) > _CHANGE * self.part
        is_new = is_other_part or (part < 1.0 and learned > self._own.learned)
        rate, self._known_rate = None, report.learned_rate
        if is_new:
            self.part = part
            if whole is not None:
                rate = self._known_rate = part * whole
        if whole:
            # One begins after the other, and after the one that was told, as the bucket may hold a single call. Who
            # has read of the pause comes later by that alone.
            rank = sum(token < self.token for token in leases)
            call_seconds = 1 / whole
            self.turn_seconds = rank / whole + max(0.0, call_seconds - READ_SECONDS)
        return Share(part=self.part, rate=rate, lease=self._news(weight, whole, learned, now))

    def forgotten(self, now: float) -> list[str]:
        """Return the tokens of processes that are gone, and whose leases need not be read any more."""
        forgotten = list[str]()
        for token, (_, heard_at) in self._heard.items():
            if now - heard_at >= _FORGOTTEN_SECONDS:
                forgotten.append(token)
        return forgotten

    def _weight_by(self, report: RateReport) -> float:
        # A process that sends less than its part leaves most of it to the others.
        self._hunger += _HUNGER_WEIGHT * (report.is_hungry - self._hunger)
        if self._hunger > 0.5:  # noqa: PLR2004 - most of the time
            return self.weight
        return self.weight * _IDLE_PART

    def _newest_rate(self, others: Sequence[RateLease], report: RateReport) -> tuple[float | None, int]:
        """Return the rate of all together and its number: by the lease that has the newest, or by an own 429 since."""
        newest = max(others, key=lambda lease: lease.learned, default=self._own)
        whole, learned = self._own.rate, self._own.learned
        if newest.learned > learned:
            whole, learned = newest.rate, newest.learned
        if not self._own.writes:
            self._known_rate = report.learned_rate  # of an earlier run
        if report.learned_rate in (None, self._known_rate):
            return whole, learned
        # This process learned its own part. It sees few calls, so a rate that all know counts as well.
        rate = report.learned_rate / self.part
        if whole is not None and learned and self.part < 1.0:
            rate = whole * (rate / whole) ** _FOUND_WEIGHT
        return rate, learned + 1

    def _news(self, weight: float, rate: float | None, learned: int, now: float) -> RateLease | None:
        before = self._own
        is_told = weight == before.weight and learned == before.learned
        if is_told and now < self._wrote_at + LEASE_SECONDS:
            return None
        self._own = RateLease(weight=weight, writes=before.writes + 1, rate=rate, learned=learned)
        self._wrote_at = now
        return self._own

    def _living(self, leases: Mapping[str, RateLease], now: float) -> list[RateLease]:
        living = list[RateLease]()
        before, self._heard = self._heard, {}
        for token, lease in leases.items():
            writes, heard_at = before.get(token, (-1, now))
            if token == self.token:
                continue
            if lease.writes != writes:
                heard_at = now
            self._heard[token] = lease.writes, heard_at
            if now - heard_at < GONE_SECONDS:
                living.append(lease)
        return living


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseNotice:
    """A pause that the service has asked one process for."""

    teller: str  # the process, and how many it has written
    writes: int
    pause_seconds: float  # what was left of it then
    told_at: float | None = None  # Unix time by the service's clock; None where that is not known


@dataclass(slots=True, kw_only=True)
class SharedPause:
    """The pause that all processes of a key know of. A process that was told a later end writes that.

    So of two that write at once the later end remains. A pause that appears while a process reads began then. Only a
    pause that stood there before needs a clock, which is the service's.
    """

    token: str
    # When what stands there ends, at the earliest and at the latest, by this process's monotonic clock.
    ends_at: float = -math.inf
    over_at: float = -math.inf
    _writes: int = 0
    _read_at: float = -math.inf
    _read: tuple[str, int] | None = None

    def heed(self, told: PauseNotice | None, now: float, service_time: float | None) -> float:
        """Read the shared pause. Return for how long to pause from now on: 0 if it is known, or this process's own."""
        read_before, self._read_at = self._read_at, now
        read = None if told is None else (told.teller, told.writes)
        if read == self._read:
            return 0.0
        self._read = read
        self.ends_at = self.over_at = -math.inf
        if told is None:
            return 0.0
        left_seconds = told.pause_seconds
        # A pause that appears while this process reads began then; of one that stood there before, a part is over.
        if read_before == -math.inf and told.told_at is not None and service_time is not None:
            over_seconds = service_time - told.told_at - _CLOCK_SECONDS
            left_seconds -= max(0.0, over_seconds)
        left_seconds = min(_MOST_PAUSE_SECONDS, max(0.0, left_seconds))
        self.ends_at = read_before + left_seconds
        self.over_at = now + left_seconds
        return 0.0 if told.teller == self.token else left_seconds

    def news(self, pause_ends_at: float, now: float, service_time: float | None) -> PauseNotice | None:
        """Return what to write of a pause that this process was told, until a monotonic time; None for nothing."""
        if pause_ends_at < max(now, self.ends_at) + _LEAST_PAUSE_SECONDS:
            return None
        self._writes += 1
        return PauseNotice(
            teller=self.token, writes=self._writes, pause_seconds=pause_ends_at - now, told_at=service_time
        )

    def wrote(self, told: PauseNotice, now: float) -> None:
        self._read = told.teller, told.writes
        self.ends_at = self.over_at = now + told.pause_seconds

    def is_left_over(self, now: float) -> bool:
        """Whether the shared pause is over, and can be deleted. A process that knows a later end writes that again."""
        return self._read is not None and now >= self.over_at
