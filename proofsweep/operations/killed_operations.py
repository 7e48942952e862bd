"""Put into its table what a killed operation has noted in its journal, and end it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from proofsweep.errors import RunIsActive, SourceError
from proofsweep.model.runs import EndedBy
from proofsweep.model.tables.columns import Row
from proofsweep.operations.operation_log import OperationLog
from proofsweep.store.operation_journals import OperationJournals
from proofsweep.store.operations import Operations
from proofsweep.store.sole_process import sole_process


@dataclass(frozen=True, slots=True, kw_only=True)
class KilledOperations:
    """Ends the operations of one kind that have a journal, but no receipt.

    Attributes:
        table: takes their rows.
        key: the column by which a row is known.
        counts_of: what the receipt says of the rows.
        is_done: whether what was noted has happened.
    """

    journals: OperationJournals
    operations: Operations
    clock: Callable[[], datetime]
    table: str
    key: str
    counts_of: Callable[[Sequence[Row]], dict[str, object]]
    is_done: Callable[[Row], bool] = lambda _row: True

    def end_all(self) -> None:
        """End those whose process does not hold its lease; one whose files cannot be read now is ended another time.

        Raises:
            ResultsError: the store cannot be used, or a journal is damaged.
        """
        for operation_id in self.journals.open():
            with suppress(RunIsActive, SourceError), sole_process(self.operations.lease(operation_id)):
                self.end(operation_id)

    def end(self, operation_id: str) -> Sequence[Row]:
        """End one, and give its rows; none if it had its receipt. Its process must be gone."""
        rows: list[Row] = []
        operation = self.operations.operation(operation_id)
        if operation is not None and self.operations.receipt(operation_id) is None:
            log = OperationLog(operation, self.operations, self.clock)
            log.continue_after_kill()
            names = [name for name in self.operations.parts_of(operation) if name.startswith(f"{self.table}/")]
            rows += self.operations.results.table(self.table, names).to_pylist()
            noted = {row[self.key]: row for row in self.journals.read(operation_id)}
            published = {row[self.key] for row in rows}
            new = [row for name, row in noted.items() if name not in published and self.is_done(row)]
            log.add(self.table, new)
            rows += new
            log.end(EndedBy.KILLED, {"counts": self.counts_of(rows)}, "The process was killed.")
        self.journals.delete(operation_id)
        return rows
