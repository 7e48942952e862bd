"""What a leg has done so far, for a progress display; the truth is in the parts."""

import threading
from collections import Counter
from dataclasses import dataclass, field

from proofsweep.client.pacing.dispatcher import LaneStatus
from proofsweep.domain.outcomes import Accepted, Finished, Rejected, word_for


@dataclass(slots=True)
class Counters:
    """Counts that worker threads add to and a progress display reads.

    Attributes:
        rows: finished rows by outcome word.
        audio_bytes: of the files that the service answered.
        cpu_seconds: of worker processes.
        lane: what worker processes know of it together; None if this process does the work.
    """

    rows: Counter[str] = field(default_factory=Counter)
    audio_bytes: int = 0
    cpu_seconds: float = 0.0
    lane: LaneStatus | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def finished(self) -> int:
        """How many rows are finished."""
        return self.rows.total()

    def note(self, done: Finished) -> None:
        """Count one finished row."""
        with self._lock:
            self.rows[word_for(done.outcome)] += 1
            if isinstance(done.outcome, Accepted | Rejected):
                self.audio_bytes += done.read.size_bytes if done.read else 0

    def take(self, *, rows: Counter[str], audio_bytes: int, cpu_seconds: float, lane: LaneStatus | None) -> None:
        """Take the sums of all worker processes."""
        with self._lock:
            self.rows, self.audio_bytes, self.cpu_seconds, self.lane = rows, audio_bytes, cpu_seconds, lane
