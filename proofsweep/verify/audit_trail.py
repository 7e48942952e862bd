"""Write down each row and each exchange of a leg as soon as it is over, and count them."""

import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from proofsweep.client.scheduler import LaneStatus
from proofsweep.domain.exchanges import Exchange
from proofsweep.domain.items import Row
from proofsweep.domain.outcomes import Accepted, Finished, Rejected, word_for
from proofsweep.store.completed_rows import CompletedRows
from proofsweep.store.journal import Journal
from proofsweep.store.rows import exchange_row
from proofsweep.verify.budget import BudgetGuard

# What a process knows of the lane counts for so long while others tell more; each does so every second.
_LANE_SECONDS = 10.0


@dataclass(slots=True)
class Counters:
    """Counts that worker threads and worker processes add to, and a progress display reads."""

    rows: Counter[str] = field(default_factory=Counter)  # finished rows by outcome word
    audio_bytes: int = 0  # of the files that the service answered
    calls: int = 0  # keyed calls
    cpu_seconds: float = 0.0  # of worker processes
    _cpu_told: float = field(default_factory=time.process_time)
    _workers: dict[str, tuple[LaneStatus, int, float]] = field(default_factory=dict)  # lane, files in flight, when
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, done: Finished) -> None:
        with self._lock:
            self.rows[word_for(done.outcome)] += 1
            if done.read is not None and isinstance(done.outcome, Accepted | Rejected):
                self.audio_bytes += done.read.size_bytes

    def note_call(self, exchange: Exchange) -> None:
        with self._lock:
            self.calls += exchange.is_charged

    def hand_over(self) -> dict[str, object]:
        """Return what was counted since the last time, as `take` takes it."""
        with self._lock:
            now = time.process_time()
            told = {"rows": dict(self.rows), "audio_bytes": self.audio_bytes, "calls": self.calls}
            told["cpu_seconds"] = now - self._cpu_told
            self.rows, self.audio_bytes, self.calls, self._cpu_told = Counter(), 0, 0, now
            return told

    def take(self, told: Mapping[str, Any]) -> None:
        """Add what a worker process handed over, its name as `writer`, and `lane` and `in_flight` as they are now."""
        with self._lock:
            self.rows.update(told["rows"])
            self.audio_bytes += told["audio_bytes"]
            self.calls += told["calls"]
            self.cpu_seconds += told["cpu_seconds"]
            self._workers[told["writer"]] = (LaneStatus(**told["lane"]), told["in_flight"], time.monotonic())

    @property
    def lane(self) -> LaneStatus | None:
        """What the worker processes know of the lane together; None if there are none."""
        there = [lane for lane, _ in self._there()]
        if not there:
            return None
        rates = [lane.rate for lane in there if lane.rate is not None]
        most = [lane.most for lane in there if lane.most is not None]
        return LaneStatus(
            # Of a lane that they share, each knows the whole rate.
            rate=None if not rates else max(rates) if any(lane.is_shared for lane in there) else sum(rates),
            most=sum(most) if most else None,
            rate_change=None,
            is_outage=any(lane.is_outage for lane in there),
            pause_seconds=min(lane.pause_seconds for lane in there),
            uploads=sum(lane.uploads for lane in there),
            yields=any(lane.yields for lane in there),
        )

    @property
    def in_flight(self) -> int:
        return sum(in_flight for _, in_flight in self._there())

    def _there(self) -> list[tuple[LaneStatus, int]]:
        told = list(self._workers.values())
        since = max((told_at for *_, told_at in told), default=0.0) - _LANE_SECONDS
        return [(lane, in_flight) for lane, in_flight, told_at in told if told_at >= since]


@dataclass(slots=True)
class AuditTrail:
    """The rows and exchanges of one process of a leg, on their way to the journal; safe to use from several threads."""

    journal: Journal
    budget: BudgetGuard
    unattributed: list[Exchange]  # exchanges that belong to no row; other threads may be adding to them
    completed: CompletedRows
    counters: Counters = field(default_factory=Counters)

    def write(self, done: Finished, row: Row) -> None:
        self.counters.note(done)
        self.journal.add(row, [])
        self.completed.add(int(str(row["manifest_row"])))

    def note(self, manifest_row: int | None, exchange: Exchange) -> None:
        """Write down an exchange of a row; of no row for None."""
        run_id, leg = self.journal.run_id, self.journal.leg
        self.journal.add(None, [exchange_row(exchange, run_id=run_id, leg=leg, manifest_row=manifest_row)])
        self.budget.note(exchange, manifest_row)
        self.counters.note_call(exchange)

    def write_unattributed(self) -> None:
        with suppress(IndexError):  # another thread may take the last one
            while self.unattributed:
                self.note(None, self.unattributed.pop(0))
