"""Which call goes next, and whether the service fails or delays the calls of all items. Pure: the time is an argument.

A verify call goes before a retried slot, and a retried slot before a new one: slots are short-lived, so work in hand is
finished first. The number of unused slots is bounded, so that none is requested that cannot be used soon, and so is the
number of uploads, so that they do not share a full link.
"""

import math
from collections import defaultdict, deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import IntEnum

from proofsweep.client.in_flight import ConcurrencyLimit, UploadLimit
from proofsweep.client.lane_model import Sent
from proofsweep.client.pacer import Pacer
from proofsweep.client.rate_share import KeptPace, LaneReport, LaneShare, LaneUse
from proofsweep.domain.exchanges import Call, Exchange, may_be_outage

# Measured together: python -m benchmarks.simulation
_SPARE_SLOTS = 8  # slots beyond what the rate needs
_SLOTS_PER_CALL = 0.75  # slots per call that the pace makes while a slot lives
_LOST_SLOT_SECONDS = 900.0  # when a slot whose item never reported is forgotten
_OLDEST_SLOT_SECONDS = 120.0  # the highest age that counts for the average
_SLOT_AGE_WEIGHT = 0.02  # the weight of one slot in the average age
_SMALL_LIMIT = 16  # what was learned of the rate before so small a limit was found comes from the limit


class Priority(IntEnum):
    """What a call is for, the most urgent first."""

    CONTROL = 0
    OTHER = 1
    RETRIED_SLOT = 2
    NEW_SLOT = 3


@dataclass(slots=True, eq=False)
class Ticket:
    priority: Priority
    holder: Hashable  # the item that the call is for; a slot belongs to the item that requested it
    is_for_slot: bool = False  # the call requests a slot
    sent: Sent | None = None  # None while it waits
    in_flight: int = 0  # calls in flight when it was sent, itself included
    is_over: bool = False  # its result is known


class CallQueue:
    def __init__(self, pacer: Pacer, limit: ConcurrencyLimit | None = None) -> None:
        # Learns the rate alone, or keeps to a part of it where other processes are known to use the lane.
        self.pacer: Pacer | KeptPace = pacer
        self.limit = limit  # None where no concurrency limit is looked for
        self.in_flight = 0
        self.is_held = False  # only the calls of a control go
        self._own_pacer = pacer
        self._use = LaneUse()
        self._told_until = -math.inf
        self.refused = 0  # calls answered with 429
        self._queues: tuple[deque[Ticket], ...] = tuple(deque() for _ in Priority)
        self._slots: dict[Hashable, float] = {}
        self._slot_seconds = 1.0
        self._stalls = StallGuard()
        self._uploads = UploadLimit()

    def enter(self, priority: Priority, holder: Hashable, *, is_for_slot: bool = False) -> Ticket:
        """Queue a call. Where its priority does not say that it requests a slot, `is_for_slot` does."""
        ticket = Ticket(priority, holder, is_for_slot or priority >= Priority.RETRIED_SLOT)
        self._queues[priority].append(ticket)
        return ticket

    def release(self, ticket: Ticket) -> None:
        self._queues[ticket.priority].remove(ticket)

    def waiting(self, priority: Priority) -> int:
        return len(self._queues[priority])

    @property
    def most_at_once(self) -> float:
        return math.inf if self.limit is None else self.limit.most

    @property
    def uploads(self) -> int:
        return self._uploads.begun

    def first(self) -> Ticket | None:
        return next((queue[0] for queue in self._queues if queue), None)

    def head(self, now: float) -> Ticket | None:
        if self.limit is not None and self.in_flight >= self.limit.allowed(now):
            return None
        if self._stalls.is_stalled(now, self.in_flight):
            return None
        ticket = self.first()
        if ticket is None or (self.is_held and ticket.priority is not Priority.CONTROL):
            return None
        if ticket.priority is Priority.NEW_SLOT and self._slots_are_enough(now):
            return None
        return ticket

    def wake_at(self, now: float) -> float:
        return math.inf if self.head(now) is None else self.pacer.next_at

    def take_next(self, now: float) -> Ticket | None:
        if isinstance(self.pacer, KeptPace) and now > self.pacer.share.until:
            self.take_share(None, now)
        ticket, is_due = self.head(now), now >= self.pacer.next_at
        if ticket is None or not is_due:
            self._use.waits = self._use.waits or ticket is not None
            return None
        ticket.sent = self.pacer.send(now)  # first: if this fails, the call still waits
        self._use.sent()
        self._queues[ticket.priority].popleft()
        if not self.in_flight:
            self._stalls.began(now)
        self.in_flight += 1
        ticket.in_flight = self.in_flight
        if ticket.is_for_slot:
            self._slots[ticket.holder] = now
            self._uploads.began(ticket.holder)
        elif ticket.holder in self._slots:
            age_seconds = min(_OLDEST_SLOT_SECONDS, now - self._slots.pop(ticket.holder))
            self._uploads.ended(ticket.holder, 0.0, 0.0, now)
            self._slot_seconds += _SLOT_AGE_WEIGHT * (age_seconds - self._slot_seconds)
        return ticket

    def was_answered(self, ticket: Ticket, now: float) -> None:
        self._close(ticket, now)
        self._use.let_in += 1
        if self.limit is not None:
            self.limit.was_admitted(ticket.in_flight)

    def was_uploaded(self, holder: Hashable, size_bytes: float, seconds: float, now: float) -> None:
        self._uploads.ended(holder, size_bytes, seconds, now)

    def pause(self, now: float, pause_seconds: float) -> None:
        self._told_until = max(self._told_until, now + pause_seconds)
        self.pacer.pause(now, pause_seconds)

    def was_throttled(self, ticket: Ticket, now: float, pause_seconds: float) -> None:
        self.drop(ticket.holder if ticket.is_for_slot else None, ticket, now)
        self._told_until = max(self._told_until, now + pause_seconds)
        self.refused += 1
        was_unlimited = self.most_at_once == math.inf
        if ticket.sent is None or (self.limit is not None and self.limit.was_refused(ticket.in_flight, now)):
            self.pacer.pause(now, pause_seconds)
            if was_unlimited and self.most_at_once <= _SMALL_LIMIT and ticket.sent is not None:
                self.pacer.search_again(ticket.sent, now)
        else:
            self.pacer.throttled(ticket.sent, now, pause_seconds)

    def drop(self, holder: Hashable, ticket: Ticket | None, now: float) -> None:
        """Take note that a call is over without a result, and that its holder has no slot, or will not use it."""
        self._slots.pop(holder, None)
        self._uploads.ended(holder, 0.0, 0.0, now)
        if ticket is not None:
            self._close(ticket, now)

    def remember(self, rate: float) -> None:
        if self.pacer.learned_rate is None and isinstance(self.pacer, Pacer):
            self.pacer = Pacer(rate)

    @property
    def share(self) -> LaneShare | None:
        return self.pacer.share if isinstance(self.pacer, KeptPace) else None

    def take_share(self, share: LaneShare | None, now: float) -> None:
        """Keep to a part of the lane; None where no other process uses it, and the pacer learns again."""
        before = self.pacer
        if share is None and isinstance(before, KeptPace):
            self.pacer = self._own_pacer if before.share.bucket is None else Pacer(before.share.bucket.rate)
        elif share is not None and isinstance(before, KeptPace):
            before.take(share, now)
        elif share is not None and isinstance(before, Pacer):
            self._own_pacer, self.pacer = before, KeptPace(share)
        self.pacer.pause(now, before.opens_at - now)

    def lane_report(self, now: float) -> LaneReport:
        use, self._use = self._use, LaneUse()
        pacer = self.pacer
        return LaneReport(
            bucket=pacer.bucket if isinstance(pacer, Pacer) and pacer.learned_rate is not None else None,
            use=use,
            pause_seconds=max(0.0, self._told_until - now),
            refused=self.refused,
            slots=len(self._slots),
        )

    def _close(self, ticket: Ticket, now: float) -> None:
        if not ticket.is_over:
            self.in_flight -= 1
            self._stalls.ended(now)
        ticket.is_over = True

    def _slots_are_enough(self, now: float) -> bool:
        enough = _SPARE_SLOTS + _SLOTS_PER_CALL * self.pacer.pace * self._slot_seconds
        if len(self._slots) < enough and not self._uploads.is_reached:
            return False
        oldest = next(iter(self._slots))
        if now - self._slots[oldest] > _LOST_SLOT_SECONDS:  # its holder never reported its end
            self.drop(oldest, None, now)
        return True


FAILURES_IN_A_ROW = 10  # so many failures of a call in a row ask for a control
_CALLS_FOR_ITEMS = frozenset({Call.ASSET, Call.UPLOADS, Call.SLOT, Call.VERIFY})


_LEAST_IN_FLIGHT = 4  # calls in flight from which silence counts
_FIRST_GAP_SECONDS = 1.0  # the silence before any gap is known
_GROWTH, _SHRINKING = 1.25, 0.995  # of the usual gap: so only one gap in 45 is longer
_GAPS, _LEAST_SECONDS = 1.5, 0.1  # a stall is so many times the usual gap, and so many seconds, at least
_LONGEST_SECONDS = 10.0  # a longer silence is no stall: calls may hang, and must not hold back others


@dataclass(slots=True)
class StallGuard:
    """Whether the way to the service stands still: calls in flight, and no answer for long."""

    _usual_gap: float = _FIRST_GAP_SECONDS
    _quiet_since: float = -math.inf

    def began(self, now: float) -> None:
        self._quiet_since = now

    def ended(self, now: float) -> None:
        self._usual_gap *= _GROWTH if now - self._quiet_since > self._usual_gap else _SHRINKING
        self._quiet_since = now

    def is_stalled(self, now: float, in_flight: int) -> bool:
        silence = now - self._quiet_since
        is_unusual = _GAPS * self._usual_gap + _LEAST_SECONDS < silence < _LONGEST_SECONDS
        return in_flight >= _LEAST_IN_FLIGHT and is_unusual


@dataclass(slots=True, kw_only=True)
class ServiceHealth:
    """Watches each call for all items: a service may give slots and verify nothing. Times are monotonic seconds."""

    longest_pause_seconds: float = 120.0  # how long the service may make a call wait
    _failures: defaultdict[Call, int] = field(default_factory=lambda: defaultdict(int))
    _waits_since: dict[Call, float] = field(default_factory=dict)

    def note(self, exchange: Exchange) -> None:
        if exchange.is_throttled:
            return
        if exchange.status is not None:
            self._waits_since.pop(exchange.call, None)
        if exchange.is_success or not may_be_outage(exchange):
            self._failures[exchange.call] = 0
        elif exchange.call in _CALLS_FOR_ITEMS:
            self._failures[exchange.call] += 1

    def is_doubtful(self, call: Call) -> bool:
        return self._failures[call] >= FAILURES_IN_A_ROW

    def trust(self) -> None:
        """Count anew: a control came out right."""
        self._failures.clear()

    def told_to_wait(self, call: Call, wait_seconds: float, now: float) -> bool:
        """Take note that the service asks for a wait. Whether it has made this call wait for too long."""
        since = self._waits_since.setdefault(call, now)
        return max(now - since, wait_seconds) > self.longest_pause_seconds
