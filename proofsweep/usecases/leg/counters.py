"""What a leg has done so far, for whoever watches it; never the truth, which is in the parts."""

import threading
from collections import Counter
from dataclasses import dataclass, field

from proofsweep.domain.outcomes import Accepted, Deferred, Finished, Rejected, word_for

_THROTTLED = 429


@dataclass(slots=True)
class Counters:
    """Counts that worker threads add to and a progress display reads.

    Attributes:
        rows: finished rows by outcome word.
        verdicts: finished rows by verdict as received.
        audio_bytes: of files whose row is finished and that were sent.
    """

    rows: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    throttled: int = 0
    audio_bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, done: Finished | Deferred) -> None:
        """Count one item's end."""
        with self._lock:
            self.calls += sum(exchange.is_charged for exchange in done.exchanges)
            self.throttled += sum(exchange.status == _THROTTLED for exchange in done.exchanges)
            if isinstance(done, Deferred):
                return
            self.rows[word_for(done.outcome)] += 1
            if isinstance(done.outcome, Accepted | Rejected):
                self.verdicts[done.outcome.answer.response.verdict] += 1
                self.audio_bytes += done.read.size_bytes if done.read else 0
