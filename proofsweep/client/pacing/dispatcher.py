"""The door that every call goes through: it makes callers wait, and it ends the leg when waiting is in vain."""

import math
import random
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime

from proofsweep.client.pacing.breaker import Breaker
from proofsweep.client.pacing.call_queue import CallQueue, Priority, Ticket
from proofsweep.client.pacing.pacer import RateChange
from proofsweep.client.pacing.patience import Patience
from proofsweep.client.retry import is_everybodys
from proofsweep.client.single_flight import SingleFlight
from proofsweep.client.stop import StopSwitch
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.errors import RunMustStop

_LOOK_SECONDS = 0.5
_DRAIN_SECONDS = 2.0
_JITTER = 0.1


@dataclass(frozen=True, slots=True)
class LaneStatus:
    """What is known of the lane.

    Attributes:
        rate: calls per second that it lets through; None until it has throttled.
        most: the most calls at once; None where no such cap was seen.
        why: what the last 429 taught.
        is_outage: the service fails for everyone, and is asked by one call now and then.
    """

    rate: float | None
    most: int | None
    why: RateChange | None
    is_outage: bool = False


class Dispatcher:
    """Thread-safe front of lane, breaker and patience; `clock` gives monotonic seconds.

    Attributes:
        stop: the leg's switch.
        question: asks for the headroom on behalf of all.
        testimony: asks on behalf of all whether the service answers others.
    """

    def __init__(
        self,
        lane: CallQueue,
        breaker: Breaker,
        stop: StopSwitch,
        patience: Patience | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        tell: Callable[[LaneStatus], None] = lambda _seen: None,
        make_room: Callable[[int], None] = lambda _waiting: None,
    ) -> None:
        """Take what it fronts.

        `tell` is told when the lane turns out to be another, or an outage begins or ends. `make_room` is called by each
        thread whose turn for a new slot came, with the number of others that wait for theirs.
        """
        self.stop = stop
        self.question: SingleFlight[int | None] = SingleFlight()
        self.testimony: SingleFlight[None] = SingleFlight()
        self._lane = lane
        self._breaker = breaker
        self._patience = patience or Patience()
        self._clock = clock
        self._tell = tell
        self._lock = threading.Lock()
        self._answered_at: dict[Call, datetime] = {}
        self._failing: set[Hashable] = set()
        self._waiting: dict[Ticket, threading.Condition] = {}
        self._make_room = make_room

    def wait_turn(self, call: Call, holder: Hashable, *, is_retry: bool = False) -> Ticket:
        """Come back when the call may go.

        While the leg ends, no slot is asked for; other calls go if they need not wait for a pause or an outage to end,
        to finish work in hand.

        Raises:
            RunMustStop: the leg ends, and the call is not made.
        """
        with self._lock:
            ticket = self._lane.enter(_turn_of(call, is_retry=is_retry), holder)
            turn_came = self._waiting[ticket] = threading.Condition(self._lock)
            try:
                while not self._has_turn(ticket):
                    self._check_stop(ticket)
                    turn_came.wait(self._nap_seconds(ticket))
            finally:
                del self._waiting[ticket]
                if ticket.sent is None:
                    self._lane.leave(ticket)
                self._serve()
            others = self._lane.waiting(Priority.NEW_SLOT)
        if ticket.turn is Priority.NEW_SLOT:
            self._make_room(others)
        return ticket

    def pause_all(self, exchange: Exchange, ticket: Ticket | None, wait_seconds: float) -> None:
        """Hold everybody back for so long; ends the leg when no such call was let through for too long.

        Only a throttle of the lane that all share teaches its rate: not an outage, and not the question for the
        headroom, which may have a lane of its own.
        """
        teaches = exchange.is_throttled and exchange.call is not Call.USAGE
        with self._lock:
            now, before = self._clock(), self._seen()
            pause_seconds = _spread(wait_seconds)
            if ticket is not None and teaches:
                self._lane.was_throttled(ticket, now, pause_seconds)
            else:
                self._lane.pacer.pause(now, pause_seconds)
            seen, is_hopeless = self._seen(), self._patience.is_spent(exchange.call, now, wait_seconds)
        if seen.most != before.most or (seen.rate != before.rate and seen.why is not RateChange.THE_SAME):
            self._tell(seen)
        if is_hopeless:
            self.stop.pull(
                RunMustStop("The service asks for a longer wait than a run should make.", ended_by="breaker")
            )

    def learn(self, exchange: Exchange, ticket: Ticket | None = None, holder: Hashable = None) -> None:
        """Take note of an exchange; ends the leg when its call fails for everyone. What throttles is told later."""
        with self._lock:
            if is_everybodys(exchange):
                self._failing.add(holder)
            else:
                self._failing.discard(holder)
            if ticket is not None and not exchange.is_throttled:
                self._lane.was_answered(ticket)
            was_outage, tripped = self._lane.is_single_file, self._note(exchange)
            seen = self._seen()
            self._serve()
        if seen.is_outage != was_outage:
            self._tell(seen)
        if tripped:
            self.stop.pull(RunMustStop(_storm(exchange), ended_by="breaker"))

    def drop(self, holder: Hashable, ticket: Ticket | None) -> None:
        """Take note that a call came to nothing, and that the slot, if there is one, will not be used."""
        with self._lock:
            self._lane.drop(holder, ticket)
            self._failing.discard(holder)
            self._serve()

    def was_answered(self, call: Call, since: datetime) -> bool:
        """Say whether the service has answered such a call since then, whoever's it was."""
        with self._lock:
            answered_at = self._answered_at.get(call)
        return answered_at is not None and answered_at >= since

    @property
    def many_fail(self) -> bool:
        """Say whether so many items fail at once that none of them can be to blame, whoever else may be answered."""
        with self._lock:
            return len(self._failing) >= self._breaker.threshold

    def end_if_lasting(self, exchange: Exchange, since: datetime) -> None:
        """End the leg if a failure that is everybody's has lasted since then for longer than a run should wait."""
        if (exchange.ended_at - since).total_seconds() >= self._breaker.patience_seconds:
            self.stop.pull(RunMustStop(_storm(exchange), ended_by="breaker"))

    def remember(self, rate: float) -> None:
        """Begin with a rate that the lane had before, unless it is known better by now."""
        with self._lock:
            self._lane.remember(rate)

    def seen(self) -> LaneStatus:
        """Say what is known of the lane."""
        with self._lock:
            return self._seen()

    def _seen(self) -> LaneStatus:
        pacer, most = self._lane.pacer, self._lane.most_at_once
        at_once = int(most) if most < math.inf else None
        return LaneStatus(pacer.learned_rate, at_once, pacer.lesson, self._breaker.is_outage)

    def _note(self, exchange: Exchange) -> bool:
        """Tell the breaker, and do as it says; say whether it has tripped."""
        tripped = False
        if is_everybodys(exchange):
            now = self._clock()
            tripped = self._breaker.failed(exchange.call, now)
            self._lane.pacer.pause(now, _spread(self._breaker.quiet_until - now))
        else:
            self._breaker.succeeded(exchange.call)
            if not exchange.is_throttled:
                self._answered_at[exchange.call] = exchange.ended_at
                self._patience.renew(exchange.call)
        self._lane.is_single_file = self._breaker.is_outage
        return tripped

    def _has_turn(self, ticket: Ticket) -> bool:
        self._serve()
        return ticket.sent is not None

    def _serve(self) -> None:
        """Let go who may, and wake whoever is next, to wait for the very moment."""
        now = self._clock()
        while not self._is_hopeless and (ticket := self._lane.next_turn(now)) is not None:
            self._wake(ticket)
        first = self._lane.first()
        if first is not None:
            self._wake(first)

    def _wake(self, ticket: Ticket) -> None:
        if ticket in self._waiting:
            self._waiting[ticket].notify()

    def _nap_seconds(self, ticket: Ticket) -> float | None:
        """Only the first in the queue looks at the clock and at the switch; it wakes the next when it goes."""
        if ticket is not self._lane.first():
            return None
        now = self._clock()
        return min(_LOOK_SECONDS, max(0.0, self._lane.wake_at(now) - now))

    @property
    def _is_hopeless(self) -> bool:
        """Say whether the leg ends in an outage, or has no time left: to finish what is in hand would take too long."""
        return self.stop.reason is not None and (self._lane.is_single_file or self.stop.is_overdue)

    def _check_stop(self, ticket: Ticket) -> None:
        wait_seconds = self._lane.pacer.next_at - self._clock()
        if ticket.turn is not Priority.ANY or wait_seconds > _DRAIN_SECONDS or self._is_hopeless:
            self.stop.check()


def _spread(wait_seconds: float) -> float:
    """Lengthen a wait by up to a tenth, so that several processes do not come back together."""
    return wait_seconds * (1 + _JITTER * random.random())  # noqa: S311 - spreads, guards nothing


def _turn_of(call: Call, *, is_retry: bool) -> Priority:
    if call is not Call.UPLOADS:
        return Priority.ANY
    return Priority.RETRIED_SLOT if is_retry else Priority.NEW_SLOT


def _storm(exchange: Exchange) -> str:
    last = exchange.failure or f"status {exchange.status}"
    return f"The service fails for everyone: the call {exchange.call} failed again and again, at last with {last}."
