"""proofsweep's own call queue and pacer in simulated time."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import count
from random import Random

from benchmarks.simulation.event_queue import EventQueue
from benchmarks.simulation.partner import SimulatedPartner
from proofsweep.partner.pacing.call_queue import CallQueue, Priority, Ticket
from proofsweep.partner.pacing.concurrency_limit import ConcurrencyLimit
from proofsweep.partner.pacing.pacer import Pacer

_names = count()


@dataclass(slots=True, kw_only=True)
class PacedClient:
    """One process with an endless catalog and at most `workers` items in flight."""

    events: EventQueue
    partner: SimulatedPartner
    chance: Random
    workers: int = 1024
    queue: CallQueue = field(default_factory=lambda: CallQueue(Pacer(), ConcurrencyLimit()))
    _busy: int = 0
    _wake_at: float = math.inf

    def work(self) -> None:
        """Send every call that may go, and run again when the next one may."""
        now = self.events.now
        if now >= self._wake_at:
            self._wake_at = math.inf
        while (ticket := self._take_next(now)) is not None:
            self._send(ticket)
        at = max(now, self.queue.wake_at(now))
        if at < self._wake_at:
            self._wake_at = at
            self.events.at(at, self.work)

    def _take_next(self, now: float) -> Ticket | None:
        if self._busy < self.workers and not self.queue.waiting(Priority.NEW_SLOT):
            self._busy += 1
            self.queue.enter(Priority.NEW_SLOT, next(_names))
        return self.queue.take_next(now)

    def _send(self, ticket: Ticket) -> None:
        def answered(status: int, retry_after: float | None) -> None:
            self._answered(ticket, status, retry_after)
            self.work()

        self.partner.call(ticket.holder, is_verify=ticket.priority is Priority.OTHER, answered=answered)

    def _answered(self, ticket: Ticket, status: int, retry_after: float | None) -> None:
        now = self.events.now
        if status == 429:  # noqa: PLR2004 - a status
            wait = max(0.5, 1.0 if retry_after is None else retry_after)
            self.queue.was_throttled(ticket, now, wait * (1 + 0.1 * self.chance.random()))
            self._queue_again(ticket)
            return
        self.queue.was_answered(ticket, now)
        if status == 500:  # noqa: PLR2004 - a status
            self.events.at(now + 0.25 + 0.25 * self.chance.random(), lambda: self._try_again(ticket))
        elif ticket.priority is Priority.OTHER:
            self._busy -= 1
        else:
            self.partner.upload(lambda size: self._uploaded(ticket.holder, size, self.events.now - now))

    def _try_again(self, ticket: Ticket) -> None:
        self._queue_again(ticket)
        self.work()

    def _queue_again(self, ticket: Ticket) -> None:
        self.queue.enter(Priority.OTHER if ticket.priority is Priority.OTHER else Priority.RETRIED_SLOT, ticket.holder)

    def _uploaded(self, item: Hashable, size: float, seconds: float) -> None:
        self.queue.was_uploaded(item, size, seconds, self.events.now)
        self.queue.enter(Priority.OTHER, item)
        self.work()
