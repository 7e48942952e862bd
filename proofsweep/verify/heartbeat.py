"""Keep a leg alive while it is worked on: the journal every second, a heartbeat every ten."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ProofsweepError, ResultsError, RunMustStop
from proofsweep.domain.runs import ClockReading, is_due
from proofsweep.store.journal import FLUSH_SECONDS, Journal
from proofsweep.store.legs import Legs
from proofsweep.store.progress import LegProgress
from proofsweep.verify.audit_trail import AuditTrail
from proofsweep.verify.budget_guard import BudgetGuard

# A bucket's client tries again for longer than this before it reports a failure. Items that begin meanwhile cannot be
# written down: half of it stops work for a slow write, twice as long risks twice the work.
_SLOW_WRITE_SECONDS = 5.0


@dataclass(slots=True, kw_only=True)
class Heartbeat:
    """Shows that one leg is alive, and that what it does can be written down."""

    legs: Legs
    leg: int
    journal: Journal
    trail: AuditTrail
    budget: BudgetGuard
    stop: StopSwitch
    store_outage_seconds: float  # how long the results store may fail before the leg ends
    is_claimant: bool = True  # else this process only keeps its journal, and gives no sign of life
    look_for_stop: Callable[[], None] = lambda: None  # called every second; ResultsError: the store fails
    progress: Callable[[], LegProgress | None] = lambda: None  # what heartbeats tell of the work, if anything
    is_settling: bool = False  # the leg's work is over, and its last rows are being written
    _has_told_stop: bool = False
    _beaten_at: ClockReading = field(init=False)
    _writing_since: float | None = None
    _failing_since: float | None = None

    def __post_init__(self) -> None:
        self._beaten_at = self.legs.now()  # the claim is a sign of life

    @property
    def store_is_well(self) -> bool:
        """Whether the results store takes what is written; read by threads beside the one that writes."""
        since = self._writing_since
        return self._failing_since is None and (since is None or time.monotonic() - since < _SLOW_WRITE_SECONDS)

    def is_settled(self) -> bool:
        return self.legs.receipt(self.leg) is not None

    def keep(self, over: threading.Event) -> None:
        """Write every second until `over` is set, and once more then.

        A store that fails at that last moment is waited for as well, unless the leg was stopped.
        """
        while True:
            is_last = over.is_set()
            if not is_last:
                self.budget.stop_at_closing()
            self._write_or_complain()
            if is_last and (self._failing_since is None or self.stop.reason is not None):
                return
            if is_last:
                time.sleep(FLUSH_SECONDS)
            else:
                over.wait(FLUSH_SECONDS)

    def send_heartbeats(self, over: threading.Event) -> None:
        """Only give signs of life until `over` is set: the leg is being settled, and its journal is complete."""
        self.is_settling = True
        while not over.wait(FLUSH_SECONDS):
            with suppress(ResultsError):  # settling finds out by itself
                if self._is_due():
                    self._beat()

    def write(self) -> None:
        """Give a sign of life when it is due, and flush.

        Raises:
            ResultsError: the store failed; what could not be written is kept for the next time.
        """
        self._writing_since = time.monotonic()
        try:
            self.look_for_stop()
            if self._is_due():
                self._beat()
                if self.legs.is_superseded(self.leg):
                    self.stop.pull(RunMustStop("Another process took this leg over.", ended_by=EndedBy.ERROR))
            self.trail.write_unattributed()
            self.journal.flush()
            self.progress()  # so that its rates are over the last minute, also between two heartbeats
        finally:
            self._writing_since = None
        self._failing_since = None

    def _write_or_complain(self) -> None:
        try:
            self.write()
        except ResultsError as error:
            now = time.monotonic()
            self._failing_since = self._failing_since or now
            if now - self._failing_since >= self.store_outage_seconds:
                self.stop.pull(RunMustStop(_complaint(error), ended_by=EndedBy.BREAKER))
        except ProofsweepError as error:
            self.stop.pull(RunMustStop(_complaint(error), ended_by=EndedBy.ERROR))

    def _is_due(self) -> bool:
        is_news = self.stop.reason is not None and not self._has_told_stop
        return is_news or is_due(self._beaten_at, self.legs.now())

    def _beat(self) -> None:
        self._has_told_stop = self.stop.reason is not None
        if self.is_claimant:
            self.legs.beat(self.leg, self.progress())
        self._beaten_at = self.legs.now()


def _complaint(error: ProofsweepError) -> str:
    return f"The run's own records cannot be kept: {error.message}"
