"""Whose turn it is to call: pure, the time is an argument.

A verify call goes before a retried slot, and that before a new one: what is begun is finished first, since slots are
short-lived. So that they are not asked for faster than they can be used, slots in flight are bounded.
"""

import math
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from enum import IntEnum

from proofsweep.client.pacing.concurrency_limit import ConcurrencyLimit
from proofsweep.client.pacing.pacer import Pacer, Sent

_SPARE_SLOTS = 8
_SLOTS_PER_CALL = 0.75
_LOST_SECONDS = 900.0
_OLDEST_SECONDS = 120.0


class Priority(IntEnum):
    """What a call is for, the most urgent first."""

    OTHER = 0
    RETRIED_SLOT = 1
    NEW_SLOT = 2


@dataclass(slots=True, eq=False)
class Ticket:
    """A call in the queue, and then on its way.

    Attributes:
        holder: the item that it is for; a slot belongs to the item that asked for it.
        sent: None while it waits.
        in_flight: calls on their way when it went, itself included.
        is_over: what became of it is known.
    """

    priority: Priority
    holder: Hashable
    sent: Sent | None = None
    in_flight: int = 0
    is_over: bool = False


class CallQueue:
    """The queue before one lane of the service; times are seconds of one monotonic clock.

    Attributes:
        cap: None where a cap on calls at once is not looked for.
        in_flight: calls on their way.
        is_half_open: a call goes only when none is on its way.
    """

    def __init__(self, pacer: Pacer, cap: ConcurrencyLimit | None = None) -> None:
        self.pacer = pacer
        self.cap = cap
        self.in_flight = 0
        self.is_half_open = False
        self._queues: tuple[deque[Ticket], ...] = (deque(), deque(), deque())
        self._slots: dict[Hashable, float] = {}
        self._slot_seconds = 1.0

    def enter(self, priority: Priority, holder: Hashable) -> Ticket:
        """Queue a call."""
        ticket = Ticket(priority, holder)
        self._queues[priority].append(ticket)
        return ticket

    def release(self, ticket: Ticket) -> None:
        """Take a call out of the queue that will not be made."""
        self._queues[ticket.priority].remove(ticket)

    def waiting(self, priority: Priority) -> int:
        """Count the queue of one kind."""
        return len(self._queues[priority])

    @property
    def most_at_once(self) -> float:
        """The most calls that the lane takes at once; infinite where no such cap was seen."""
        return math.inf if self.cap is None else self.cap.most

    def first(self) -> Ticket | None:
        """Give the most urgent call of the queue, whether it may go or not."""
        return next((queue[0] for queue in self._queues if queue), None)

    def head(self, now: float) -> Ticket | None:
        """Give the call that goes next; None when there is none, or when it waits for others to end."""
        if self.in_flight >= self._limit(now):
            return None
        ticket = self.first()
        if ticket is not None and ticket.priority is Priority.NEW_SLOT and self._slots_are_enough(now):
            return None
        return ticket

    def wake_at(self, now: float) -> float:
        """Give the time at which the next call may go; infinite when only the end of another can bring it."""
        return math.inf if self.head(now) is None else self.pacer.next_at

    def take_next(self, now: float) -> Ticket | None:
        """Let the next call go, if it may by now."""
        ticket = None if now < self.pacer.next_at else self.head(now)
        if ticket is None:
            return None
        self._queues[ticket.priority].popleft()
        ticket.sent = self.pacer.send(now)
        self.in_flight += 1
        ticket.in_flight = self.in_flight
        if ticket.priority is not Priority.OTHER:
            self._slots[ticket.holder] = now
        elif ticket.holder in self._slots:
            age_seconds = min(_OLDEST_SECONDS, now - self._slots.pop(ticket.holder))
            self._slot_seconds += 0.02 * (age_seconds - self._slot_seconds)
        return ticket

    def was_answered(self, ticket: Ticket) -> None:
        """Take note that a call is over, and was not throttled."""
        self._close(ticket)
        if self.cap is not None:
            self.cap.was_admitted(ticket.in_flight)

    def was_throttled(self, ticket: Ticket, now: float, pause_seconds: float) -> None:
        """Take note of a 429, and let everybody pause for so long."""
        self.drop(ticket.holder if ticket.priority is not Priority.OTHER else None, ticket)
        if ticket.sent is None or (self.cap is not None and self.cap.was_refused(ticket.in_flight, now)):
            self.pacer.pause(now, pause_seconds)
        else:
            self.pacer.throttled(ticket.sent, now, pause_seconds)

    def drop(self, holder: Hashable, ticket: Ticket | None) -> None:
        """Take note that a call is over, whatever came of it, and that the holder has no slot, or will not use it."""
        self._slots.pop(holder, None)
        if ticket is not None:
            self._close(ticket)

    def remember(self, rate: float) -> None:
        """Begin with a rate that the lane had before, unless it is known better by now."""
        if self.pacer.learned_rate is None:
            self.pacer = Pacer(rate)

    def _limit(self, now: float) -> float:
        if self.is_half_open:
            return 1
        return math.inf if self.cap is None else self.cap.limit(now)

    def _close(self, ticket: Ticket) -> None:
        self.in_flight -= not ticket.is_over
        ticket.is_over = True

    def _slots_are_enough(self, now: float) -> bool:
        enough = _SPARE_SLOTS + _SLOTS_PER_CALL * self.pacer.pace * self._slot_seconds
        if len(self._slots) < enough:
            return False
        oldest = next(iter(self._slots))
        if now - self._slots[oldest] > _LOST_SECONDS:  # whoever held it is gone without a word
            del self._slots[oldest]
        return True
