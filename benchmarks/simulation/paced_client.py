"""proofsweep's own call queue and pacer in simulated time."""

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import count
from random import Random

from benchmarks.simulation.event_queue import EventQueue
from benchmarks.simulation.simulated_partner import SimulatedPartner
from proofsweep.pacing.call_queue import CallQueue, Priority, Ticket
from proofsweep.pacing.pacer import Pacer

_names: Iterator[Hashable] = count()


@dataclass(slots=True, kw_only=True)
class PacedClient:
    """One process with at most `workers` items in flight.

    Attributes:
        items: the catalog's items, each unlike all others; endless by default.
        closes_at: the time from which no new item begins.
        prepare_seconds: how long the machine works on an item before its first call, on one at a time.
        begun: when each item began.
        finished: when each item was finished, in order.
        busy_seconds: how long all items together were in flight.
    """

    events: EventQueue
    partner: SimulatedPartner
    chance: Random
    workers: int = 1024
    queue: CallQueue = field(default_factory=lambda: CallQueue(Pacer()))
    items: Iterator[Hashable] = _names
    closes_at: float = math.inf
    prepare_seconds: float = 0.0
    begun: list[float] = field(default_factory=list)
    finished: list[float] = field(default_factory=list)
    busy_seconds: float = 0.0
    _began_at: dict[Hashable, float] = field(default_factory=dict)
    _is_preparing: bool = False
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
        is_ready = self._is_preparing or self.queue.waiting(Priority.NEW_SLOT)
        if len(self._began_at) < self.workers and not is_ready and now < self.closes_at:
            self._begin(now)
        return self.queue.pop_next(now)

    def _begin(self, now: float) -> None:
        item = next(self.items, None)
        if item is None:
            return
        self.begun.append(now)
        self._began_at[item] = now
        if self.prepare_seconds:
            self._is_preparing = True
            self.events.at(now + self.prepare_seconds, lambda: self._prepared(item))
        else:
            self.queue.enter(Priority.NEW_SLOT, item)

    def _prepared(self, item: Hashable) -> None:
        self._is_preparing = False
        self.queue.enter(Priority.NEW_SLOT, item)
        self.work()

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
        self.queue.was_answered(ticket)
        if status == 500:  # noqa: PLR2004 - a status
            self.events.at(now + 0.25 + 0.25 * self.chance.random(), lambda: self._try_again(ticket))
        elif ticket.priority is Priority.OTHER:
            self.busy_seconds += now - self._began_at.pop(ticket.holder)
            self.finished.append(now)
        else:
            upload = self.partner.conditions.upload
            upload(ticket.holder, lambda _size: self._uploaded(ticket.holder))

    def _try_again(self, ticket: Ticket) -> None:
        self._queue_again(ticket)
        self.work()

    def _queue_again(self, ticket: Ticket) -> None:
        self.queue.enter(Priority.OTHER if ticket.priority is Priority.OTHER else Priority.RETRIED_SLOT, ticket.holder)

    def _uploaded(self, item: Hashable) -> None:
        self.queue.was_uploaded(item)
        self.queue.enter(Priority.OTHER, item)
        self.work()
