"""A worker process's part in a leg that another process holds: from its first slice until the leg is over."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Protocol, TypeVar

from proofsweep.domain.worker_slices import GrantedSlice, ProcessCounts, SliceResult
from proofsweep.errors import NameTaken, ResultsError, RunMustStop
from proofsweep.storage.results.journal import FLUSH_SECONDS, Segments
from proofsweep.usecases.leg.background import beside
from proofsweep.usecases.leg.begun_slices import begin_slice
from proofsweep.usecases.leg.granted_budget import GrantedBudget
from proofsweep.usecases.leg.heartbeat import Heartbeat
from proofsweep.usecases.leg.leg_context import LegContext
from proofsweep.usecases.leg.publish import publish_exchanges
from proofsweep.usecases.leg.work import verify_slice

_Result = TypeVar("_Result")


class ClusterLink(Protocol):
    """What the cluster does between this process and the one that holds the leg."""

    def is_over(self, seconds: float) -> bool:
        """Wait for so long; say whether the leg ends, or this process is cut off from it."""

    def tell(self, counts: dict[str, object]) -> None:
        """Send counts for the progress display."""


class WorkerHeartbeat(Heartbeat):
    """A heartbeat that only keeps the journal: the leg's signs of life are another process's."""

    __slots__ = ()

    def _beat(self) -> None:
        self._beaten_at = self.legs.now()


@dataclass(slots=True, kw_only=True)
class WorkerProcess:
    """One worker process of a leg; safe to use from several threads.

    Attributes:
        leg: the leg as this process sees it, with an engine and a journal of its own.
        budget: the one of `leg`.
        abort: abandons the items in flight.
        drain_seconds: time that items in flight have when the leg is over.
    """

    leg: LegContext
    budget: GrantedBudget
    link: ClusterLink
    abort: Callable[[], None]
    drain_seconds: float
    _cpu_before: float = field(default_factory=time.process_time)
    _told: RunMustStop | None = None
    _slices: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def verify(self, granted: GrantedSlice) -> SliceResult:
        """Work through a slice, and write everything down before the task ends."""
        with self._changed:
            self._slices += 1
        try:
            if self.leg.stop.reason is not None or self.link.is_over(0.0):
                return SliceResult(counts=self.counts)
            return self._verified(granted)
        finally:
            with self._changed:
                self._slices -= 1
                self._changed.notify_all()

    def follow(self) -> None:
        """Keep the journal and tell counts until the leg is over; then let the items in flight end."""
        with beside("heartbeat", self.leg.heartbeat.keep, self._break_off):
            while self.leg.stop.reason is None and not self.link.is_over(FLUSH_SECONDS):
                self.link.tell(asdict(self.counts))
            if self.leg.stop.reason is None:
                self._told = RunMustStop("The leg is over for this process.", ended_by="error")
                self.leg.stop.pull(self._told)
            timer = threading.Timer(self.drain_seconds, self.abort)
            timer.start()
            with self._changed:
                self._changed.wait_for(lambda: not self._slices)
            timer.cancel()
        with suppress(ResultsError):
            self._publish_late()

    @property
    def counts(self) -> ProcessCounts:
        """What this process has done so far."""
        lane, counters = self.leg.dispatcher.status(), self.leg.counters
        return ProcessCounts(
            writer=self.leg.journal.writer,
            rows=dict(counters.rows),
            audio_bytes=counters.audio_bytes,
            cpu_seconds=time.process_time() - self._cpu_before,
            rate=lane.rate,
            most_at_once=lane.most,
            is_outage=lane.is_outage,
        )

    def _verified(self, granted: GrantedSlice) -> SliceResult:
        is_done, refused_before, lost_by = False, self.budget.refused, None
        self.budget.take(granted.calls)
        try:
            with suppress(RunMustStop):
                lost_by = self._work(granted)
                is_done = lost_by is None and self.budget.refused == refused_before and self.leg.stop.reason is None
        finally:
            calls = self.budget.hand_back(granted.calls)
        reason = self.leg.stop.reason
        stop = None if reason is self._told else reason
        return SliceResult(is_done=is_done, lost_by=lost_by, calls=calls, stop=stop, counts=self.counts)

    def _work(self, granted: GrantedSlice) -> str | None:
        """Verify what is left of a slice; give the process that has lost this attempt."""
        begun = self._until_stopped(lambda: begin_slice(self.leg, granted))
        if begun.lost_by is None and not begun.is_published:
            with suppress(NameTaken):  # a process that was taken for lost has published the shard; or the leg is lost
                verify_slice(self.leg, granted.piece, begun.finished)
            self.leg.trail.write_unattributed()
            self._until_stopped(self.leg.journal.flush)
        return begun.lost_by

    def _until_stopped(self, act: Callable[[], _Result]) -> _Result:
        """Do something with the store, as often as it fails; RunMustStop if the leg ends meanwhile."""
        while True:
            try:
                return act()
            except ResultsError:
                self.leg.stop.rest(FLUSH_SECONDS)

    def _break_off(self, error: BaseException) -> None:
        broken = f"The thread heartbeat failed through a mistake of this program ({type(error).__name__})."
        self.leg.stop.pull(RunMustStop(broken, ended_by="error"))

    def _publish_late(self) -> None:
        """Publish the exchanges of a leg that was settled while this process was taken for lost."""
        leg = self.leg
        if leg.heartbeat.legs.receipt(leg.leg) is not None:
            segments = Segments(leg.results, leg.plan.run_id, leg.leg)
            publish_exchanges(leg.results, leg.plan, leg.leg, segments)
            segments.delete()
