"""Quarantine rows that may say more about the service than about the audio, and end the leg if they are many."""

import threading

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.anomalies import AnomalyGuard, explain
from proofsweep.domain.outcomes import Finished
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import RunMustStop
from proofsweep.storage.results.past_answers import PastAnswers


class Quarantine:
    """The anomaly guard of a leg; safe to use from several threads."""

    def __init__(self, guard: AnomalyGuard, past: PastAnswers, stop: StopSwitch) -> None:
        self._guard = guard
        self._past = past
        self._stop = stop
        self._lock = threading.Lock()

    def admit(self, done: Finished, row: Row) -> list[Row]:
        """Give the rows that may be written now: this one and the quarantined ones, or none.

        An anomaly ends the leg; the rows that belong to it remain for a later one.
        """
        with self._lock:
            passed = self._guard.admit(done.outcome, row, lambda: self._past.was_accepted(done.item.item_id))
            anomaly = self._guard.detected
        if anomaly is not None:
            self._stop.pull(RunMustStop(explain(anomaly, self._guard.threshold(anomaly)), ended_by="breaker"))
        return passed

    def release(self) -> list[Row]:
        """Give the rows that are in quarantine when the leg ends: they were too few to be an anomaly."""
        with self._lock:
            return self._guard.release()
