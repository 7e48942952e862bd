"""Put the sidecars that killed recoveries have written into the table `recoveries`."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from proofsweep.domain.operations import Operation
from proofsweep.domain.runs import EndedBy
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import RunIsActive, SourceError
from proofsweep.storage.files.moves import Moves
from proofsweep.storage.results.operations import Operations
from proofsweep.storage.results.recovery_journal import RecoveryJournals
from proofsweep.usecases.operations.operation_log import OperationLog
from proofsweep.usecases.operations.sole_process import sole_process


@dataclass(frozen=True, slots=True, kw_only=True)
class KilledRecoveries:
    """Finds the recoveries that were killed while they wrote, and ends them."""

    journals: RecoveryJournals
    operations: Operations
    files: Moves
    clock: Callable[[], datetime]

    def end_all(self) -> None:
        """End each of them; one whose files cannot be read now is ended another time.

        Raises:
            ResultsError: the store cannot be used, or a journal is damaged.
        """
        for operation_id in self.journals.open():
            with suppress(RunIsActive, SourceError), sole_process(self.operations.lease(operation_id)):
                operation = self.operations.operation(operation_id)
                if operation is not None and self.operations.receipt(operation_id) is None:
                    self._end(operation)
                self.journals.delete(operation_id)

    def _end(self, operation: Operation) -> None:
        """Add a row for each file that is there with the bytes that were to be written; then write the receipt."""
        log = OperationLog(operation, self.operations, self.clock)
        log.continue_after_kill()
        published = self._published(operation)
        steps = self.journals.read(operation.operation_id)
        intended = {row["recovered_to"]: row for rows in steps for row in rows}
        for row in published:
            intended.pop(row["recovered_to"], None)
        written = [row for row in intended.values() if self._is_there(row)]
        log.add("recoveries", written)
        outcomes = Counter(str(row["outcome"]) for row in [*published, *written])
        log.end(EndedBy.KILLED, {"counts": {"outcomes": outcomes}}, "The process was killed.")

    def _published(self, operation: Operation) -> list[Row]:
        names = [name for name in self.operations.parts_of(operation) if name.startswith("recoveries/")]
        rows: list[Row] = self.operations.results.table("recoveries", names, ["outcome", "recovered_to"]).to_pylist()
        return rows

    def _is_there(self, row: Row) -> bool:
        return self.files.digest(str(row["recovered_to"])) == row["sidecar_sha256"]
