"""Conditions of a simulation in which everything takes the same time."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from proofsweep.verify.rehearsal.event_queue import EventQueue


@dataclass(slots=True)
class FixedConditions:
    """Each trip, call and upload takes so many seconds."""

    events: EventQueue
    trip: float = 0.0
    work: float = 0.0
    uploading: float = 0.0

    def trip_seconds(self) -> float:
        """Return the duration of a trip."""
        return self.trip

    def work_seconds(self, *, is_verify: bool) -> float:  # noqa: ARG002 - both kinds take the same
        """Return the duration of a call."""
        return self.work

    def awake_at(self, now: float) -> float:
        """Return the time itself: no machine stalls."""
        return now

    def upload(self, item: Hashable, uploaded: Callable[[float], None]) -> None:  # noqa: ARG002 - all are alike
        """Upload one byte."""
        self.events.at(self.events.now + self.uploading, lambda: uploaded(1.0))
