"""Write down each row and each exchange of a leg as soon as it is over."""

import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from proofsweep.domain.exchanges import Exchange
from proofsweep.domain.items import Row
from proofsweep.domain.outcomes import Finished, word_for
from proofsweep.store.completed_rows import CompletedRows
from proofsweep.store.journal import Journal
from proofsweep.store.rows import exchange_row
from proofsweep.verify.budget import Budget


@dataclass(slots=True)
class AuditTrail:
    """The rows and exchanges of a leg on their way to the journal, each as soon as it is over; safe for threads."""

    journal: Journal
    budget: Budget
    unattributed: list[Exchange]  # exchanges that belong to no row; other threads may be adding to them
    completed: CompletedRows
    rows: Counter[str] = field(default_factory=Counter)  # finished rows by outcome word
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, done: Finished, row: Row) -> None:
        self.journal.add(row, [])
        self.completed.add(int(str(row["manifest_row"])))
        with self._lock:
            self.rows[word_for(done.outcome)] += 1

    def note(self, manifest_row: int | None, exchange: Exchange) -> None:
        """Write down an exchange of a row; of no row for None."""
        run_id, leg = self.journal.run_id, self.journal.leg
        self.journal.add(None, [exchange_row(exchange, run_id=run_id, leg=leg, manifest_row=manifest_row)])
        self.budget.note(exchange, manifest_row)

    def flush(self) -> None:
        """Make all of it durable; ResultsError if the store cannot be written: it is kept for the next time."""
        self.write_unattributed()
        self.journal.flush()

    def write_unattributed(self) -> None:
        with suppress(IndexError):  # another thread may take the last one
            while self.unattributed:
                self.note(None, self.unattributed.pop(0))
