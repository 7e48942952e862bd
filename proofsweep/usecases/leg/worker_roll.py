"""Which worker processes of a leg are there, which are lost, and when all have written everything down."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from proofsweep.domain.runs import STALE_SECONDS
from proofsweep.domain.worker_processes import Orders, WorkerReport
from proofsweep.storage.results.lease import is_gone
from proofsweep.storage.results.worker_messages import WorkerMessages

# Bounds the wait for worker processes that report and never close. Chosen: they abandon their items long before that;
# half may be too short for a slow store, twice keeps the next leg waiting.
_LONGEST_CLOSE_SECONDS = 120.0

# How soon the end of a worker process is seen. Chosen: half reads a bucket twice as often, twice delays the end.
_CLOSE_CHECK_SECONDS = 0.5


@dataclass(slots=True)
class WorkerRoll:
    """The worker processes of a leg by their reports; watched by one process.

    A process is lost if it no longer exists, or has not reported for 30 s by this process's own clock: clocks of two
    machines are never compared.

    Attributes:
        uptime: gives monotonic seconds.
        reports: the last report of each worker process, by its name.
    """

    messages: WorkerMessages
    uptime: Callable[[], float] = time.monotonic
    reports: Mapping[str, WorkerReport] = field(default_factory=dict)
    _heard_at: dict[str, tuple[int, float]] = field(default_factory=dict)

    def read(self) -> None:
        """Read all reports; ResultsError if the store cannot be read. A listing that lags behind forgets no process."""
        self.reports = {**self.reports, **self.messages.reports()}
        now = self.uptime()
        for name, report in self.reports.items():
            if self._heard_at.get(name, (-1, 0.0))[0] != report.number:
                self._heard_at[name] = (report.number, now)

    @property
    def lost(self) -> set[str]:
        """The processes that ended or fell silent before they closed."""
        now = self.uptime()
        silent = {name for name, (_, heard_at) in self._heard_at.items() if now - heard_at > STALE_SECONDS}
        unclosed = {name: report for name, report in self.reports.items() if not report.is_closed}
        return {name for name, report in unclosed.items() if name in silent or is_gone(report.process)}

    @property
    def working(self) -> dict[str, WorkerReport]:
        """The reports of the processes that are there and have not closed."""
        lost = self.lost
        return {name: report for name, report in self.reports.items() if name not in lost and not report.is_closed}


def close_workers(roll: WorkerRoll, orders: Orders, rest: Callable[[float], None] = time.sleep) -> None:
    """Tell the worker processes of a leg that it is over, and wait until each has closed or is lost.

    Args:
        roll: its worker processes.
        orders: the last orders, which say that it is over.
        rest: waits for a number of seconds.

    Raises:
        ResultsError: the store cannot be read or written.
    """
    roll.read()
    if not roll.reports:
        return
    roll.messages.write_orders(orders)
    roll.read()  # a process reports before it reads the orders: one that began meanwhile is seen now
    gives_up_at = roll.uptime() + _LONGEST_CLOSE_SECONDS
    while roll.working and roll.uptime() < gives_up_at:
        rest(_CLOSE_CHECK_SECONDS)
        roll.read()
