"""Keep the journal of a worker process, and exchange messages with the process that holds the leg."""

from collections.abc import Callable
from dataclasses import dataclass

from proofsweep.domain.worker_processes import EXCHANGE_SECONDS
from proofsweep.usecases.leg.heartbeat import Heartbeat


def _nothing() -> None:
    """Stand for an exchange until there is one."""


@dataclass(slots=True, kw_only=True)
class WorkerHeartbeat(Heartbeat):
    """A heartbeat whose signs of life are a worker process's reports; the leg's own is another process's.

    Attributes:
        exchange: writes a report and reads the orders; ResultsError if the store fails.
    """

    exchange: Callable[[], None] = _nothing
    _exchanged_at: float = float("-inf")

    def _is_due(self) -> bool:
        return self.legs.uptime() - self._exchanged_at >= EXCHANGE_SECONDS

    def _beat(self) -> None:
        self._exchanged_at = self.legs.uptime()
        self.exchange()
