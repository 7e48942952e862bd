"""Write down one operation while it works: its calls, its rows and its receipt, also of a rotation in many commands."""

import secrets
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import NameTaken, RunIsActive, SourceError
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.runs import new_run_id
from proofsweep.store.key_rotation import RotationIntent
from proofsweep.store.lease import sole_process
from proofsweep.store.model_operations import CallCounts, Operation
from proofsweep.store.operations import OperationJournals, Operations
from proofsweep.store.receipts import Part
from proofsweep.store.tables.columns import Row
from proofsweep.store.tables.exchanges import exchange_row

_MOST_ROWS, _LONGEST_HOLD = 5_000, timedelta(seconds=60)  # in memory: what a killed process may lose
_TAIL_BYTES = 3  # random bytes of an ID


def new_id(now: datetime) -> str:
    """Name an operation, or a pass of monitoring; names sort by time."""
    return new_run_id(now, secrets.token_hex(_TAIL_BYTES))


class OperationLog:
    """Takes the calls and the rows of one operation, and writes them as parts; `counts` are its calls. Thread-safe."""

    def __init__(self, operation: Operation, operations: Operations, clock: Callable[[], datetime]) -> None:
        self.operation = operation
        self.counts = CallCounts()
        self._operations = operations
        self._clock = clock
        self._rows: defaultdict[str, list[Row]] = defaultdict(list)
        self._parts: list[Part] = []
        self._seq = 0
        self._flushed_at = clock()
        self._lock = threading.RLock()

    def continue_after_kill(self) -> None:
        """Take over the parts and the calls of an attempt at this operation that was killed."""
        names = self._operations.parts_of(self.operation)
        self._parts = [self._operations.results.part(name) for name in names]
        columns = ["call", "status", "bytes_sent", "started_at"]
        for name in (name for name in names if name.startswith("exchanges/")):
            for row in self._operations.results.table("exchanges", [name], columns).to_pylist():
                self.counts.add(Call(row["call"]), row["status"], row["bytes_sent"], row["started_at"])

    def note(self, exchange: Exchange) -> None:
        """Take one HTTP exchange; give this to `Partner.in_new_session`."""
        run_id, environment = self.operation.operation_id, self.operation.environment
        with self._lock:
            self.counts.add(exchange.call, exchange.status, exchange.bytes_sent, exchange.started_at)
            row = exchange_row(exchange, run_id=run_id, leg=1, manifest_row=None, environment=environment)
            self._hold("exchanges", row)

    def add(self, table: str, rows: Iterable[Row]) -> None:
        """Take rows of a table; `operation_id` and `environment` are filled in."""
        own: Row = {"operation_id": self.operation.operation_id, "environment": self.operation.environment}
        with self._lock:
            for row in rows:
                self._hold(table, own | row)

    def flush(self) -> None:
        """Write what is in memory as parts; ResultsError if the store cannot be written."""
        with self._lock:
            for table in sorted(self._rows, key=lambda name: name != "exchanges"):  # a row's calls go before it
                part, self._seq = self._operations.publish(self.operation, table, self._rows[table], self._seq)
                self._parts.append(part)
                del self._rows[table]
            self._flushed_at = self._clock()

    def end(self, ended_by: str, facts: Mapping[str, object], why: str | None = None) -> None:
        """Write the rest, then the receipt; ResultsError if the store cannot be written."""
        self.flush()
        document = dict(facts) | self.counts.document()
        document |= {"ended_by": ended_by, "why": why, "finished_at": self._clock().isoformat()}
        document["parts"] = [asdict(part) for part in self._parts]
        self._operations.write_receipt(self.operation, document)

    def _hold(self, table: str, row: Row) -> None:
        self._rows[table].append(row)
        is_long_ago = self._clock() - self._flushed_at > _LONGEST_HOLD
        if is_long_ago or sum(map(len, self._rows.values())) >= _MOST_ROWS:
            self.flush()


@dataclass(frozen=True, slots=True, kw_only=True)
class KilledOperations:
    """Ends the operations of one kind that have a journal, but no receipt."""

    journals: OperationJournals
    operations: Operations
    clock: Callable[[], datetime]
    table: str  # takes their rows
    key: str  # the column by which a row is known
    counts_of: Callable[[Sequence[Row]], dict[str, object]]  # what the receipt says of the rows
    is_done: Callable[[Row], bool] = lambda _row: True  # whether what was noted has happened

    def end_all(self) -> None:
        """End those whose process does not hold its lease; one whose files cannot be read now is ended another time."""
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


class RotationLog:
    """Keeps the calls of one command in memory until they can be written."""

    def __init__(
        self, operations: Operations, new_operation: Callable[[], Operation], clock: Callable[[], datetime]
    ) -> None:
        self._operations = operations
        self._new_operation = new_operation
        self._clock = clock
        self._calls: list[Exchange] = []

    def note(self, exchange: Exchange) -> None:
        self._calls.append(exchange)

    def is_closed(self, intent: RotationIntent) -> bool:
        return self._operations.receipt(intent.operation_id) is not None

    def close(self, intent: RotationIntent) -> None:
        """Write the calls and the receipt, unless another command has closed the rotation."""
        if not self.is_closed(intent):
            log = OperationLog(intent.operation, self._operations, self._clock)
            log.continue_after_kill()
            self._end(log, intent)

    def flush(self, intent: RotationIntent | None) -> None:
        """Write the calls of a command that does not finish its rotation, or that came after another one had."""
        if self._calls and (intent is None or self.is_closed(intent)):
            self._end(OperationLog(self._new_operation(), self._operations, self._clock), intent)
        elif self._calls and intent is not None:
            self._handed_over(OperationLog(intent.operation, self._operations, self._clock)).flush()

    def _end(self, log: OperationLog, intent: RotationIntent | None) -> None:
        facts = {} if intent is None else {"key_fingerprint": intent.key_fingerprint}
        with suppress(NameTaken):
            self._handed_over(log).end(EndedBy.COMPLETE, facts)

    def _handed_over(self, log: OperationLog) -> OperationLog:
        while self._calls:
            log.note(self._calls.pop(0))
        return log
