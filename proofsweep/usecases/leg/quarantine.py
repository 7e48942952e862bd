"""Quarantine rows that may say more about the service than about the audio, and end the leg if they are many."""

import threading
import time
from dataclasses import dataclass, field

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.anomalies import AnomalyGuard, explain
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import Finished
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import ResultsError, RunMustStop
from proofsweep.storage.results.past_answers import PastAnswers

# Chosen: how soon a results store that failed is read again; half asks it more often, twice waits longer at its end.
_READ_AGAIN_SECONDS = 1.0


@dataclass(slots=True)
class Quarantine:
    """The anomaly guard of a leg; safe to use from several threads.

    One thread reads the past answers. Only rows that need them wait for it.

    Attributes:
        patience_seconds: how long past answers may be unreadable before the leg ends.
    """

    guard: AnomalyGuard
    past: PastAnswers
    stop: StopSwitch
    patience_seconds: float
    _unreadable_since: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _reading: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, done: Finished, row: Row) -> list[Row]:
        """Give the rows that may be written now: this one and the quarantined ones, or none.

        An anomaly ends the leg; the rows that belong to it remain for a later one. So does a row about which the past
        answers could not be asked before the leg ended.
        """
        try:
            found = self.guard.anomaly_in(done.outcome, lambda: self._was_accepted(done.item))
        except RunMustStop:
            return []
        with self._lock:
            passed = self.guard.admit(done.outcome, found, row)
            anomaly = self.guard.detected
        if anomaly is not None:
            self.stop.pull(RunMustStop(explain(anomaly, self.guard.threshold(anomaly)), ended_by="breaker"))
        return passed

    def held(self) -> list[Row]:
        """Give the rows that are in quarantine now."""
        with self._lock:
            return self.guard.held()

    def release(self) -> list[Row]:
        """Give the rows that are in quarantine when the leg ends: they were too few to be an anomaly."""
        with self._lock:
            return self.guard.release()

    def _was_accepted(self, item: WorkItem) -> bool:
        """Ask the past answers; wait for a results store that fails. RunMustStop if the leg ends meanwhile."""
        with self._reading:
            while True:
                if self._unreadable_since is not None:
                    self.stop.rest(_READ_AGAIN_SECONDS)
                try:
                    was_accepted = any(map(self.past.was_accepted, item.known_ids))
                except ResultsError as error:
                    self._complain(error)
                else:
                    self._unreadable_since = None
                    return was_accepted

    def _complain(self, error: ResultsError) -> None:
        """End the leg if the past answers were unreadable for longer than its patience."""
        now = time.monotonic()
        if self._unreadable_since is None:
            self._unreadable_since = now
        if now - self._unreadable_since >= self.patience_seconds:
            why = f"The answers of earlier runs cannot be read: {error.message}"
            self.stop.pull(RunMustStop(why, ended_by="breaker"))
