"""A worker process's part in a leg that another process holds: from its first task until the leg is over."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar

from proofsweep.domain.runs import Claim, Slice
from proofsweep.domain.worker_processes import Orders, WorkerReport
from proofsweep.errors import NameTaken, ResultsError, RunMustStop
from proofsweep.storage.results.journal import Segments
from proofsweep.storage.results.worker_messages import WorkerMessages
from proofsweep.usecases.leg.background import beside
from proofsweep.usecases.leg.begun_slices import begin_slice
from proofsweep.usecases.leg.granted_budget import GrantedBudget
from proofsweep.usecases.leg.leg_context import LegContext
from proofsweep.usecases.leg.publish import publish_exchanges
from proofsweep.usecases.leg.work import verify_slice

# Silence after which the process that holds the leg counts as dead, unless the leg's patience with the store is longer.
# No item begins long before that. Chosen: half ends work when a machine sleeps for a moment; twice keeps it longer.
_SILENT_SECONDS = 60.0

# How soon new orders are read while no calls are granted, and a store that failed is tried again. Chosen: half reads a
# bucket twice as often, twice delays the begin of the work.
_WAIT_SECONDS = 0.5
_Result = TypeVar("_Result")


@dataclass(slots=True, kw_only=True)
class WorkerProcess:
    """One worker process of a leg; safe to use from several threads.

    Attributes:
        leg: the leg as this process sees it, with an engine and a journal of its own.
        budget: the one of `leg`.
        messages: those of the leg.
        identity: which process this is.
        abort: abandons the items in flight.
        drain_seconds: time that items in flight have when the leg is over.
    """

    leg: LegContext
    budget: GrantedBudget
    messages: WorkerMessages
    identity: Claim
    abort: Callable[[], None]
    drain_seconds: float
    _over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _cpu_before: float = field(default_factory=time.process_time)
    _slices: int = 0
    _number: int = 0
    _orders_number: int = -1
    _heard_at: float = field(default_factory=time.monotonic)
    _told: RunMustStop | None = None
    _is_closed: bool = False

    def verify(self, piece: Slice) -> int:
        """Work through a slice; give the number of rows that were finished.

        (1) wait for calls, (2) say that the slice is begun, and take over what another process wrote down of it before
        it was lost, (3) verify, (4) write everything down before the task ends.

        Raises:
            RunMustStop: this process must end the leg, or the leg is over.
        """
        with self._has_work():
            self._await_calls()  # (1)
            begun = self._until_stopped(lambda: begin_slice(self.leg, piece))  # (2)
            if begun.is_published:
                return 0
            try:
                rows = verify_slice(self.leg, piece, begun.finished)  # (3)
            except NameTaken:  # a process that was taken for lost has published the shard; or the leg is lost
                rows = 0
            self._until_stopped(self.leg.journal.flush)  # (4)
        if self._own_stop is not None:
            self.leg.stop.check()
        return rows

    def follow(self) -> None:
        """Report and obey until the leg is over for this process; then write everything down, and close."""
        try:
            with beside("heartbeat", self.leg.heartbeat.keep, self._break_off):
                self._over.wait()
                self._drain()
                self.leg.trail.write_unattributed()
            self._publish_late()
        finally:
            self._is_closed = True
            with suppress(ResultsError):
                self.exchange()

    def exchange(self) -> None:
        """Write a report, then read the orders.

        Raises:
            ResultsError: the store cannot be used.
        """
        with self._lock:
            self._number += 1
            try:
                self.messages.write_report(self.leg.journal.writer, self._report())
                self._obey(self.messages.orders())
            finally:
                self._notice_silence()

    @contextmanager
    def _has_work(self) -> Iterator[None]:
        with self._lock:
            self._slices += 1
        try:
            yield
        finally:
            with self._lock:
                self._slices -= 1

    def _await_calls(self) -> None:
        """Ask for calls if none are granted; an item that has begun to wait would see them later."""
        if self.budget.is_dry:
            self._until_stopped(self.exchange)
        while self.budget.is_dry and self.leg.stop.reason is None:
            with suppress(RunMustStop):
                self.leg.stop.rest(_WAIT_SECONDS)
            self._until_stopped(self.exchange)

    def _until_stopped(self, act: Callable[[], _Result]) -> _Result:
        """Do something with the store, as often as it fails; RunMustStop if the leg ends meanwhile."""
        while True:
            try:
                return act()
            except ResultsError:
                self.leg.stop.rest(_WAIT_SECONDS)

    def _report(self) -> WorkerReport:
        lane, counters = self.leg.dispatcher.status(), self.leg.counters
        return WorkerReport(
            process=self.identity,
            number=self._number,
            rows=dict(counters.rows),
            audio_bytes=counters.audio_bytes,
            cpu_seconds=time.process_time() - self._cpu_before,
            returned=self.budget.hand_back(is_idle=not self._slices),
            calls=self.budget.spent,
            is_busy=self._slices > 0,
            is_waiting=self.budget.is_waiting or self.budget.is_dry,
            rate=lane.rate,
            most_at_once=lane.most,
            is_outage=lane.is_outage,
            stop=self._own_stop,
            is_closed=self._is_closed,
        )

    @property
    def _own_stop(self) -> RunMustStop | None:
        """Why this process must end the leg; None if it need not, or was told to."""
        reason = self.leg.stop.reason
        return None if reason is self._told else reason

    def _obey(self, orders: Orders | None) -> None:
        if orders is not None and orders.stop is not None:
            self._stop(orders.stop)
        if orders is None or orders.is_over:
            self._end("The leg is over.")
            return
        if orders.number != self._orders_number:
            self._orders_number, self._heard_at = orders.number, time.monotonic()
            if self.leg.journal.writer in orders.granted:
                self.budget.grant(orders.granted[self.leg.journal.writer])
        if orders.is_aborted:
            self.abort()

    def _notice_silence(self) -> None:
        """End the work for a leg whose own process is dead, or cannot be heard."""
        longest = max(_SILENT_SECONDS, self.leg.heartbeat.patience_seconds)
        if time.monotonic() - self._heard_at > longest:
            self._end(f"The process that holds the leg has not been heard for {longest:.0f} s.")

    def _end(self, why: str) -> None:
        self._stop(RunMustStop(why, ended_by="error"))
        self._over.set()

    def _stop(self, reason: RunMustStop) -> None:
        if self.leg.stop.reason is None:
            self._told = reason
            self.leg.stop.pull(reason)

    def _break_off(self, error: BaseException) -> None:
        broken = f"The thread heartbeat failed through a mistake of this program ({type(error).__name__})."
        self.leg.stop.pull(RunMustStop(broken, ended_by="error"))
        self._over.set()

    def _drain(self) -> None:
        """Let the items in flight end; abandon them after a while."""
        timer = threading.Timer(self.drain_seconds, self.abort)
        timer.start()
        self.leg.workers.shutdown(wait=True)
        timer.cancel()

    def _publish_late(self) -> None:
        """Publish the exchanges of a leg that was ended while this process was taken for lost."""
        leg = self.leg
        if leg.heartbeat.legs.receipt(leg.leg) is not None:
            segments = Segments(leg.results, leg.plan.run_id, leg.leg)
            publish_exchanges(leg.results, leg.plan, leg.leg, segments)
            segments.delete()
