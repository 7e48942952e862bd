"""What the process that holds a leg does for its worker processes: it adds up what they do, and tells them to stop."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from proofsweep.client.pacing.dispatcher import LaneStatus
from proofsweep.domain.budget.grants import Grants
from proofsweep.domain.worker_processes import EXCHANGE_SECONDS, Orders, WorkerReport
from proofsweep.errors import ResultsError, RunMustStop
from proofsweep.logs import Event, log
from proofsweep.storage.results.worker_messages import WorkerMessages
from proofsweep.usecases.leg.background import beside
from proofsweep.usecases.leg.leg_context import LegContext
from proofsweep.usecases.leg.worker_roll import WorkerRoll, close_workers

# How soon a request to stop is passed on. Chosen: half wakes the thread twice as often; at twice a person notices it.
_STEP_SECONDS = 0.25

# How soon the first worker process is seen. Chosen: half asks the store twice as often while a cluster starts; twice
# delays the first file.
_FIRST_REPORT_SECONDS = 0.5

# How soon a store that failed is tried again at the end. Chosen: as often as the journal is flushed.
_TRY_AGAIN_SECONDS = 1.0


@contextmanager
def coordinated(leg: LegContext) -> Iterator[None]:
    """Let worker processes do the work inside; at its end, wait until each has written everything down.

    Raises:
        ResultsError: the store cannot be read or written at the end.
    """
    messages = WorkerMessages(leg.results.store, leg.plan.run_id, leg.leg)
    coordinator = Coordinator(leg, WorkerRoll(messages))
    coordinator.exchange()  # a worker process that finds no orders does nothing
    try:
        with beside("worker processes", coordinator.keep, lambda error: _stop(leg, error)):
            yield
    finally:
        coordinator.close()


def _stop(leg: LegContext, error: BaseException) -> None:
    broken = f"The thread of the worker processes failed through a mistake of this program ({type(error).__name__})."
    leg.stop.pull(RunMustStop(broken, ended_by="error"))


@dataclass(slots=True)
class Coordinator:
    """Reads the reports of a leg's worker processes, and writes the orders for them."""

    leg: LegContext
    roll: WorkerRoll
    _grants: Grants = field(default_factory=Grants)
    _number: int = 0
    _known_lost: set[str] = field(default_factory=set)

    def keep(self, over: threading.Event) -> None:
        """Exchange messages every two seconds until `over` is set; a request to stop is passed on at once.

        A store that fails for a while is the heartbeat's affair: without orders, worker processes begin nothing.
        """
        due_at, told = 0.0, (False, False)
        while not over.wait(_STEP_SECONDS):
            state = (self.leg.stop.reason is not None, self.leg.stop.is_aborted)
            if state != told or time.monotonic() >= due_at:
                with suppress(ResultsError):
                    self.exchange()
                    told = state
                due_at = time.monotonic() + (EXCHANGE_SECONDS if self.roll.reports else _FIRST_REPORT_SECONDS)

    def exchange(self) -> None:
        """Read the reports, and write new orders."""
        self.roll.read()
        self._take_reports()
        granted, stop = self._grant(), self.leg.stop
        orders = Orders(number=self._next_number(), granted=granted, stop=stop.reason, is_aborted=stop.is_aborted)
        self.roll.messages.write_orders(orders)

    def close(self) -> None:
        """Say that the leg is over, and count everything for the last time, when all processes have closed.

        A store that fails is waited for, as long as the leg's heartbeat does.

        Raises:
            ResultsError: it fails for longer.
        """
        gives_up_at = time.monotonic() + self.leg.heartbeat.patience_seconds
        while True:
            try:
                self._close()
            except ResultsError:
                if time.monotonic() >= gives_up_at:
                    raise
                time.sleep(_TRY_AGAIN_SECONDS)
            else:
                return

    def _close(self) -> None:
        close_workers(self.roll, Orders(number=self._next_number(), stop=self.leg.stop.reason, is_over=True))
        self._take_reports()
        self.roll.messages.delete()

    def _take_reports(self) -> None:
        """Take over what the reports say: counts, lane and calls; and why a process ended the leg, if one did."""
        reports = self.roll.reports
        for report in reports.values():
            if report.stop is not None:
                self.leg.stop.pull(report.stop)
        if reports:
            self.leg.counters.take(
                rows=sum((Counter(report.rows) for report in reports.values()), Counter()),
                audio_bytes=sum(report.audio_bytes for report in reports.values()),
                cpu_seconds=sum(report.cpu_seconds for report in reports.values()),
                lane=_lane_of(self.roll.working or reports),
            )
        self._count_calls()
        self._log_lost()

    def _grant(self) -> dict[str, int | None]:
        """Grant calls to the processes that have work."""
        busy = {name: report for name, report in self.roll.working.items() if report.is_busy}
        grantable = self.leg.budget.grantable(is_wanted=any(report.is_waiting for report in busy.values()))
        granted = self._grants.share(grantable, busy)
        self._count_calls()
        return granted

    def _count_calls(self) -> None:
        reports, lost = self.roll.reports, self.roll.lost
        self.leg.budget.count_workers(self._grants.spent(reports, lost), self._grants.in_hand(reports, lost))

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    def _log_lost(self) -> None:
        for name in self.roll.lost - self._known_lost:
            process = self.roll.reports[name].process
            log(Event.WORKER_LOST, run_id=self.leg.plan.run_id, leg=self.leg.leg, host=process.host, pid=process.pid)
        self._known_lost = self.roll.lost


def _lane_of(reports: Mapping[str, WorkerReport]) -> LaneStatus:
    """Add up what each process knows of its part of the lane."""
    rates = [report.rate for report in reports.values() if report.rate is not None]
    most = [report.most_at_once for report in reports.values() if report.most_at_once is not None]
    is_outage = any(report.is_outage for report in reports.values())
    return LaneStatus(sum(rates) if rates else None, sum(most) if most else None, None, is_outage)
