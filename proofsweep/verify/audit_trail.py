"""Write down each row and each exchange of a leg as soon as it is over."""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from proofsweep.config.threads import Lock
from proofsweep.domain.exchanges import Exchange
from proofsweep.domain.items import Row
from proofsweep.domain.outcomes import Finished, word_for
from proofsweep.store.journal import CompletedRows, Journal
from proofsweep.store.rows import exchange_row
from proofsweep.verify.budget import Budget


@dataclass(slots=True, kw_only=True)
class Trail:
    """The exchanges of a leg on their way to the journal; safe to use from several threads."""

    journal: Journal
    budget: Budget
    unattributed: list[Exchange]  # exchanges that belong to no row; other threads may be adding to them
    environment: str

    def record(self, manifest_row: int | None, exchange: Exchange, owed_to: int | None = None) -> None:
        """Write down an exchange of a row, or of none; by default the budget owes its call to the row."""
        run_id = self.journal.run_id
        leg = self.journal.leg
        environment = self.environment
        row = exchange_row(exchange, run_id=run_id, leg=leg, manifest_row=manifest_row, environment=environment)
        self.journal.add(None, [row])
        self.budget.record(exchange, manifest_row if owed_to is None else owed_to)

    def flush(self) -> None:
        """Make all of it durable; ResultsError if the store cannot be written: it is kept for the next time."""
        with suppress(IndexError):  # another thread may take the last one
            while self.unattributed:
                self.record(None, self.unattributed.pop(0))
        self.journal.flush()


@dataclass(slots=True, kw_only=True)
class AuditTrail(Trail):
    """The rows and exchanges of a leg that verifies."""

    completed: CompletedRows
    rows: Counter[str] = field(default_factory=Counter)  # finished rows by outcome word
    _lock: Lock = field(default_factory=Lock)

    def write(self, done: Finished, row: Row) -> None:
        self.journal.add(row, [])
        self.completed.add(int(str(row["manifest_row"])))
        self.budget.calls_of_tries.pop(done.item.manifest_row, None)
        with self._lock:
            self.rows[word_for(done.outcome)] += 1
