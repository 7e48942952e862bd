"""One operation: begin it, bound its calls, write down its rows, and its receipt however it ends."""

import secrets
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

from proofsweep import __version__
from proofsweep.client.client import Partner
from proofsweep.config.sections import BoundsSettings
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, ProofsweepError, RunIsActive, RunMustStop, SourceError
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.items import Row
from proofsweep.domain.operations import CallCounts, Operation, OperationKind
from proofsweep.domain.runs import new_run_id
from proofsweep.sources.files import Files
from proofsweep.store.lease import sole_process
from proofsweep.store.operations import OperationJournals, Operations
from proofsweep.store.parts import Part, Results
from proofsweep.store.rows import exchange_row
from proofsweep.verify.service import ServiceStatus

CALLS_AT_ONCE = 8  # calls that wait for an answer at once
_MOST_ROWS, _LONGEST_HOLD = 5_000, timedelta(seconds=60)  # in memory: what a killed process may lose
_MOST_FAILURES = 10  # in a row


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationContext:
    """What operations of one store and one key are given."""

    results: Results
    environment: str
    bounds: BoundsSettings
    partner: Partner
    key_fingerprint: Callable[[], str]
    unattributed: list[Exchange]  # on behalf of all sessions, such as checks of the headroom
    usable_service: Callable[[int], ServiceStatus]  # whose quota leaves calls above a reserve; else it raises
    files: Files
    clock: Callable[[], datetime]

    def new_operation(self, kind: OperationKind) -> Operation:
        now = self.clock()
        return Operation(
            operation_id=new_id(now),
            kind=kind,
            environment=self.environment,
            base_url=self.partner.base_url,
            started_at=now,
        )


def new_id(now: datetime) -> str:
    """Name an operation, or a pass of monitoring; names sort by time."""
    return new_run_id(now, secrets.token_hex(3))


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
        names, results = self._operations.parts_of(self.operation), self._operations.results
        self._parts = [results.part(name) for name in names]
        calls = [name for name in names if name.startswith("exchanges/")]
        for row in results.table("exchanges", calls, ["call", "status", "bytes_sent", "started_at"]).to_pylist():
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


class CallBudget:
    """Keyed calls left to an operation, of `most` in all (None: any number), earlier ones included. Thread-safe."""

    def __init__(self, log: OperationLog, most: int | None, ended_by: EndedBy = EndedBy.WINDOW) -> None:
        """Begin; `ended_by` says what it means that none is left: a bound that was given, or the quota."""
        self._most = most
        self._log = log
        self._ended_by = ended_by
        self._promised = 0
        self._lock = threading.Lock()

    @contextmanager
    def promised(self) -> Iterator[None]:
        """Promise a call to the work inside, at whose end the log has counted it; RunMustStop if none is left."""
        with self._lock:
            if self._most is not None and self._log.counts.calls + self._promised >= self._most:
                what = "that the quota leaves" if self._ended_by is EndedBy.QUOTA else "that it was given"
                raise RunMustStop(f"Of the {self._most:,} calls {what}, none are left.", ended_by=self._ended_by)
            self._promised += 1
        try:
            yield
        finally:
            with self._lock:
                self._promised -= 1


class OutageGuard:
    """Stops an operation after too many failed calls in a row. Thread-safe."""

    def __init__(self, partner: Partner, most_failures: int = _MOST_FAILURES) -> None:
        self._stop = partner.session.stop
        self._most_failures = most_failures
        self._in_a_row = 0
        self._lock = threading.Lock()

    def answered(self) -> None:
        """Take note of an answer; a refusal of one item is one too."""
        with self._lock:
            self._in_a_row = 0

    def failed(self, error: CallFailed) -> None:
        """Take note of a call that failed for good; RunMustStop if the service fails for all."""
        if error.reason.startswith("http_4"):
            self.answered()
            return
        with self._lock:
            self._in_a_row += 1
            is_outage = self._in_a_row >= self._most_failures
        if is_outage:
            self._stop.pull(RunMustStop(f"The service fails for everything: {error.message}", ended_by=EndedBy.BREAKER))
            self._stop.check()


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationWork:
    context: OperationContext
    log: OperationLog
    partner: Partner  # every call of it is written down as a row of `exchanges`
    outage: OutageGuard
    counts: dict[str, object] = field(default_factory=dict)  # what the receipt says of the work, beside its calls

    @classmethod
    def on(cls, context: OperationContext, operation: Operation) -> "OperationWork":
        log = OperationLog(operation, Operations(context.results), context.clock)
        partner = context.partner.in_new_session(log.note)
        return cls(context=context, log=log, partner=partner, outage=OutageGuard(partner))

    @property
    def operation_id(self) -> str:
        return self.log.operation.operation_id

    def call_budget(self, max_calls: int | None = None) -> CallBudget:
        """See that the service can be worked with, and return how many calls a bound or the quota allows."""
        bounds = self.context.bounds
        headroom = self.context.usable_service(bounds.reserve).headroom
        self.write_unattributed()
        given = max_calls or bounds.max_calls
        left = None if headroom is None else headroom - bounds.reserve + self.log.counts.calls
        if left is not None and (given is None or left < given):
            return CallBudget(self.log, left, EndedBy.QUOTA)
        return CallBudget(self.log, given)

    def write_unattributed(self) -> None:
        while self.context.unattributed:
            self.log.note(self.context.unattributed.pop(0))


@contextmanager
def operation_begun(
    context: OperationContext, kind: OperationKind, intent: Mapping[str, object] | None = None
) -> Iterator[OperationWork]:
    """Begin an operation, and write its receipt however the work inside ends.

    Under the lease of the operation: (1) the intent is written before the first call, (2) the work, (3) the receipt.
    `intent` adds facts to the first, never a secret. ConfigError or ResultsError if it cannot begin; nothing was
    called.
    """
    operations, facts = Operations(context.results), {"key_fingerprint": context.key_fingerprint()}
    operation = context.new_operation(kind)
    work = OperationWork.on(context, operation)
    ended_by, why = EndedBy.ERROR, None
    with sole_process(operations.lease(operation.operation_id)):
        operations.write_intent(operation, {**(intent or {}), **facts})  # (1)
        try:
            yield work  # (2)
            ended_by = EndedBy.COMPLETE
        except RunMustStop as stop:
            ended_by, why = stop.ended_by, stop.message
            raise
        except ProofsweepError as error:
            why = error.message
            raise
        except KeyboardInterrupt:
            ended_by = EndedBy.CANCELLED
            raise
        finally:
            work.write_unattributed()
            work.log.end(ended_by, {**facts, "proofsweep_version": __version__, "counts": work.counts}, why)  # (3)


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
