"""The one thread-safe door of all calls: it decides which call goes next and when, and ends a leg that is lost."""

import random
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from proofsweep.config.threads import Condition, Event, Lock, StopSwitch, monotonic
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.pacing.call_queue import CallQueue, Priority, Ticket
from proofsweep.pacing.circuit_breaker import CircuitBreaker
from proofsweep.pacing.rate_share import RateReport, Share

# How late the first call sees the end of the leg, and any call at the latest: the first wakes the others before that.
_STOP_CHECK_SECONDS = 0.5
_LATEST_STOP_SECONDS = 1.0
_LEAST_DRAIN_SECONDS = 2.0  # how long a call may be paused while a leg ends whose time for work in hand is over
_FIRST_CALLS = frozenset({Call.UPLOADS, Call.ASSET})  # of a file, and of a proof
_JITTER_SHARE = 0.1  # by which share a wait may be longer than told
_TOO_LONG_A_WAIT = "The service asks for a longer wait than a run should make."


@dataclass(frozen=True, slots=True)
class RateStatus:
    rate: float | None  # calls per second that it lets through, as this run or an earlier one learned
    is_outage: bool = False  # a probe failed, and only probes go
    pause_seconds: float = 0.0  # what is left of the pause that the service asked for
    is_shared: bool = False  # other processes are known to use it too


class Scheduler:
    """Thread-safe front of the call queue and the circuit breaker; `stop` is the leg's switch.

    A leg that has items sets `on_open`, which returns when the circuit is closed again. Without it, none is opened.
    """

    def __init__(
        self,
        queue: CallQueue,
        stop: StopSwitch,
        *,
        longest_pause_seconds: float = 120.0,
        clock: Callable[[], float] = monotonic,
        make_room: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the parts.

        The leg ends when the service makes one call wait for longer than `longest_pause_seconds`, at once or again and
        again. `make_room` is called in each thread whose call asked for a new slot.
        """
        self.stop = stop
        self.clock = clock
        self._queue = queue
        self._longest_pause_seconds = longest_pause_seconds
        self._waits_since: dict[Call, float] = {}
        self._breaker = CircuitBreaker()
        self.on_open: Callable[[], None] | None = None
        self.throttled = Event()  # set by each 429 of the lane; who tells other processes clears it
        self._make_room = make_room
        self._lock = Lock()
        self._waiting: dict[Ticket, Condition] = {}

    def wait_turn(
        self,
        call: Call,
        holder: Hashable,
        *,
        is_retry: bool = False,
        is_probe: bool = False,
        is_in_hand: bool = False,
    ) -> Ticket:
        """Return when the call may go; `is_in_hand` if its holder has made others before.

        While the leg ends, no file is begun and no probe is made. Other calls go, to finish work in hand, unless a
        pause is longer than the time that is left for it, or an outage holds them. RunMustStop if the call is not made.
        """
        begins = is_probe or (call in _FIRST_CALLS and not is_in_hand)
        is_for_slot = call is Call.UPLOADS
        priority = Priority.OTHER
        if is_probe:
            priority = Priority.PROBE
        elif is_for_slot:
            priority = Priority.RETRIED_SLOT if is_retry else Priority.NEW_SLOT
        with self._lock:
            ticket = self._queue.enter(priority, holder, is_for_slot=is_for_slot)
            changed = Condition(self._lock)
            self._waiting[ticket] = changed
            # Whatever ends the wait, also an error, the others must not wait for this call.
            try:
                self._check_stop(begins=begins)
                self._serve()
                while ticket.sent is None:
                    self._check_stop(begins=begins)
                    if changed.wait(self._wait_seconds(ticket)) or ticket is self._queue.first():
                        self._serve()
            finally:
                del self._waiting[ticket]
                if ticket.sent is None:
                    self._queue.release(ticket)
                self._serve()
        if ticket.priority is Priority.NEW_SLOT:
            self._make_room()
        return ticket

    def record(
        self, exchange: Exchange, ticket: Ticket | None = None, holder: Hashable = None, *, is_probe: bool = False
    ) -> None:
        """Record an exchange, which may open the circuit.

        A 429 of GET /partner/usage changes nothing here: it may have its own lane.
        """
        with self._lock:
            if ticket is not None and not exchange.is_throttled:
                self._queue.was_answered(ticket)
            elif exchange.call is Call.USAGE:
                self._queue.drop(None, ticket)
            if exchange.call is Call.SLOT:
                self._queue.was_uploaded(holder)
            if exchange.status is not None and not exchange.is_throttled:
                self._waits_since.pop(exchange.call, None)
            is_failing = not is_probe and self._breaker.record(exchange, self.clock())
            self._serve()
        if is_failing:
            self.open_circuit()

    def open_circuit(self) -> None:
        """Let only probes go until the leg closes the circuit, unless one was answered just now.

        A leg that ends makes no probe: its work in hand is tried until its time is over.
        """
        with self._lock:
            if self.on_open is None or self.stop.reason is not None or not self._breaker.open(self.clock()):
                return
            self._waits_since.clear()
        self.on_open()

    @property
    def is_open(self) -> bool:
        return self._breaker.is_open

    def begin_probe(self) -> None:
        with self._lock:
            self._breaker.begin_probe(self.clock())

    def probe_failed(self) -> None:
        with self._lock:
            self._breaker.probe_failed()
            self._waits_since.clear()  # an outage is no wait that the service asks for

    @property
    def probe_due_seconds(self) -> float:
        return max(0.0, self._breaker.due_at - self.clock())

    def close_circuit(self) -> None:
        """Let all calls go again."""
        with self._lock:
            self._breaker.close()
            self._serve()

    def pause_all(self, exchange: Exchange, ticket: Ticket | None, wait_seconds: float) -> None:
        """Hold all calls back; end the leg after too long a wait. Only a 429 changes the rate: an outage does not."""
        with self._lock:
            now = self.clock()
            jitter = _JITTER_SHARE * random.random()  # noqa: S311 - spreads the processes
            pause_seconds = wait_seconds * (1 + jitter)
            if ticket is not None and exchange.is_throttled:
                self._queue.was_throttled(ticket, now, pause_seconds)
                self.throttled.set()
            else:
                self._queue.drop(None, ticket)
                self._queue.pause(now, pause_seconds)
            waits_seconds = now - self._waits_since.setdefault(exchange.call, now)
            is_lost = max(waits_seconds, wait_seconds) > self._longest_pause_seconds
        if is_lost:
            self.stop.pull(RunMustStop(_TOO_LONG_A_WAIT, ended_by=EndedBy.BREAKER))

    def drop(self, holder: Hashable, ticket: Ticket | None) -> None:
        with self._lock:
            self._queue.drop(holder, ticket)
            self._serve()

    def remember(self, rate: float | None) -> None:
        if rate is not None:
            with self._lock:
                self._queue.remember(rate)

    def report(self) -> RateReport:
        with self._lock:
            return self._queue.report()

    def apply_share(self, share: Share) -> None:
        """Keep to a part of the rate limit."""
        with self._lock:
            self._queue.apply_share(share, self.clock())
            self._serve()

    def pause(self, pause_seconds: float) -> None:
        """Keep to a pause that the service asked another process for."""
        with self._lock:
            self._queue.pause(self.clock(), pause_seconds)

    @property
    def pause_ends_at(self) -> float:
        """Return the end of the last pause that a 429 has asked this process for, by its own clock."""
        return self._queue.pause_ends_at

    @property
    def refused(self) -> int:
        return self._queue.refused

    def status(self) -> RateStatus:
        with self._lock:
            pacer, part = self._queue.pacer, self._queue.part
            rate = pacer.learned_rate
            if rate is not None:
                rate /= part
            pause_seconds = max(0.0, pacer.opens_at - self.clock())
            is_outage = self._breaker.is_outage
        return RateStatus(rate=rate, is_outage=is_outage, pause_seconds=pause_seconds, is_shared=part < 1.0)

    def _serve(self) -> None:
        """Let all calls go that may, and wake the next one, which then waits for its exact time."""
        now = self.clock()
        self._queue.is_held = self._breaker.is_open
        while not self._is_abandoned:
            ticket = self._queue.pop_next(now)
            if ticket is None:
                break
            self._wake(ticket)
        first = self._queue.first()
        if first is not None:
            self._wake(first)

    def _wake(self, ticket: Ticket) -> None:
        if ticket in self._waiting:
            self._waiting[ticket].notify()

    def _wait_seconds(self, ticket: Ticket) -> float:
        # Only the first in the queue watches the clock; it wakes the next one when it goes. All watch the switch.
        if ticket is not self._queue.first():
            return _LATEST_STOP_SECONDS
        now = self.clock()
        left_seconds = self._queue.wake_at(now) - now
        return min(_STOP_CHECK_SECONDS, max(0.0, left_seconds))

    @property
    def _is_abandoned(self) -> bool:
        if self.stop.reason is None:
            return False
        return self._breaker.is_open or self.stop.is_aborted

    def _check_stop(self, *, begins: bool) -> None:
        if self.stop.reason is None:
            return
        wait_seconds = self._queue.pacer.next_at - self.clock()
        most_seconds = max(_LEAST_DRAIN_SECONDS, self.stop.drain_left_seconds)
        if begins or wait_seconds > most_seconds or self._is_abandoned:
            self.stop.check()
