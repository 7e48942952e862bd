"""Write down every exchange of a leg as soon as it is over, and count what it cost."""

from collections.abc import Callable
from contextlib import suppress

from proofsweep.model.exchanges import Exchange
from proofsweep.model.tables.exchanges import exchange_row
from proofsweep.store.journal import Journal
from proofsweep.verify.budget.budget_guard import BudgetGuard


class AuditTrail:
    """The exchanges of one leg, on their way to the journal and the budget; safe to use from several threads."""

    def __init__(self, journal: Journal, budget: BudgetGuard, unattributed: list[Exchange]) -> None:
        """Take the list of exchanges that belong to no row; other threads may be adding to it."""
        self._journal = journal
        self.budget = budget
        self._unattributed = unattributed

    def of_row(self, manifest_row: int | None) -> Callable[[Exchange], None]:
        """Return a way to write down the exchanges of a row; of no row for None."""

        def record(exchange: Exchange) -> None:
            run_id, leg = self._journal.run_id, self._journal.leg
            self._journal.add(None, [exchange_row(exchange, run_id=run_id, leg=leg, manifest_row=manifest_row)])
            self.budget.note(exchange, manifest_row)

        return record

    def write_unattributed(self) -> None:
        """Write down the exchanges that belong to no row, and take them from their list."""
        record = self.of_row(None)
        with suppress(IndexError):  # another thread may take the last one
            while self._unattributed:
                record(self._unattributed.pop(0))
