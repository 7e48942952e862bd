"""How the processes of one key share its rate limit. Pure: times are arguments.

Each keeps a lease where the others can read it: its weight, the newest rate that it knows of, and what is left of a
pause that the service asked it for. Each takes its weight's part of the rate, among the weights of those that live.
Nobody asks, and nobody answers.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

LOOK_SECONDS = 1.0  # a process looks at the leases of the others so often
LEASE_SECONDS = 5.0  # and writes its own so often, or when it has news
GONE_SECONDS = 12.0  # a lease that has not changed for so long is a dead process's: two may be late
LEAST_PAUSE_SECONDS = 0.5
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
    pause_seconds: float = 0.0  # what was left then of a pause that the service has asked it for
    epoch_seconds: float = 0.0  # when it was written, by the clock of its machine


@dataclass(frozen=True, slots=True, kw_only=True)
class RateReport:
    """What a process knows by itself."""

    learned_rate: float | None  # calls per second of its own, as its 429s show; None until one was due
    is_hungry: bool  # calls wait for their turn
    pause_seconds: float = 0.0  # what is left of a pause that the service has asked it for


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What follows: `rate` to keep to from now on, None to leave it; for how long to pause; and the lease to write."""

    part: float  # of the whole, 1 for who is alone
    rate: float | None
    pause_seconds: float
    lease: RateLease | None


@dataclass(slots=True, kw_only=True)
class RateShare:
    """One process's part; times are seconds of its own monotonic clock, and no other clock is compared with it."""

    token: str
    weight: float
    known: float | None = None  # calls per second of all processes together, as an earlier run learned it
    part: float = 1.0
    _own: RateLease = field(init=False)
    _wrote_at: float = -math.inf
    _paused_until: float = -math.inf
    _hunger: float = 1.0
    _known_rate: float | None = None  # that its pacer had when it was last looked at
    _heard: dict[str, tuple[int, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._own = RateLease(weight=self.weight, rate=self.known)

    def look(self, leases: Mapping[str, RateLease], report: RateReport, now: float) -> Share:
        others, pause_seconds = self._living(leases, now)
        self._hunger += _HUNGER_WEIGHT * (report.is_hungry - self._hunger)
        weight = self.weight * (1.0 if self._hunger > 0.5 else _IDLE_PART)  # noqa: PLR2004 - most of the time
        newest = max(others, key=lambda lease: lease.learned, default=self._own)
        whole, learned = self._own.rate, self._own.learned
        if newest.learned > learned:
            whole, learned = newest.rate, newest.learned
        if not self._own.writes:
            self._known_rate = report.learned_rate  # of an earlier run
        if report.learned_rate not in (None, self._known_rate):
            known = whole if learned and self.part < 1.0 else None
            whole, learned = self._found(report.learned_rate, known), learned + 1
        part = weight / (weight + sum(lease.weight for lease in others))
        is_other_part = abs(part - self.part) > _CHANGE * self.part
        is_new = is_other_part or (part < 1.0 and learned > self._own.learned)
        rate = part * whole if is_new and whole is not None else None
        self._known_rate = report.learned_rate if rate is None else rate
        self.part = part if is_new else self.part
        if pause_seconds and whole:  # one begins after the other, as the bucket may hold a single call
            pause_seconds += sum(token < self.token for token in leases) / whole
        lease = self._news(weight, whole, learned, report.pause_seconds, now)
        return Share(part=self.part, rate=rate, pause_seconds=pause_seconds, lease=lease)

    def _found(self, rate: float, known: float | None) -> float:
        """Return the rate of all, of which this process learned its own part by a 429."""
        found = rate / self.part
        return found if known is None else known * (found / known) ** _FOUND_WEIGHT

    def _news(
        self, weight: float, rate: float | None, learned: int, pause_seconds: float, now: float
    ) -> RateLease | None:
        before, paused_until = self._own, now + pause_seconds
        is_told = weight == before.weight and learned == before.learned
        is_told = is_told and paused_until < max(now, self._paused_until) + LEAST_PAUSE_SECONDS
        if is_told and now < self._wrote_at + LEASE_SECONDS:
            return None
        self._own = RateLease(
            weight=weight, writes=before.writes + 1, rate=rate, learned=learned, pause_seconds=pause_seconds
        )
        self._wrote_at, self._paused_until = now, paused_until
        return self._own

    def _living(self, leases: Mapping[str, RateLease], now: float) -> tuple[list[RateLease], float]:
        """Return the leases of the others that are alive, and the longest pause that was told since the last look."""
        living, pause_seconds = list[RateLease](), 0.0
        before, self._heard = self._heard, {}
        for token, lease in leases.items():
            writes, heard_at = before.get(token, (-1, now))
            if token == self.token:
                continue
            if lease.writes != writes:
                heard_at, pause_seconds = now, max(pause_seconds, lease.pause_seconds)
            self._heard[token] = lease.writes, heard_at
            if now - heard_at < GONE_SECONDS:
                living.append(lease)
        return living, pause_seconds
