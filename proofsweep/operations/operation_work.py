"""Begin an operation, bound its calls, and write its receipt however its work ends."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from proofsweep import __version__
from proofsweep.client.client import Partner
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, ProofsweepError, RunMustStop
from proofsweep.domain.exchanges import Exchange
from proofsweep.operations.operation_log import OperationLog, new_id
from proofsweep.sources.files import Files
from proofsweep.store.lease import sole_process
from proofsweep.store.model_operations import Operation, OperationKind
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results
from proofsweep.verify.service import ServiceStatus


class CallBudget:
    """Keyed calls left to an operation, of `most` in all (None: any number), earlier ones included. Thread-safe."""

    def __init__(self, log: OperationLog, most: int | None, ended_by: EndedBy = EndedBy.WINDOW) -> None:
        """Begin; `ended_by` says what it means that none is left: a bound that was given, or the quota."""
        self.most = most
        self._log = log
        self._ended_by = ended_by
        self._promised = 0
        self._lock = threading.Lock()

    @contextmanager
    def promised(self) -> Iterator[None]:
        """Promise a call to the work inside, at whose end the log has counted it; RunMustStop if none is left."""
        with self._lock:
            if self.most is not None and self._log.counts.calls + self._promised >= self.most:
                what = "that the quota leaves" if self._ended_by is EndedBy.QUOTA else "that it was given"
                raise RunMustStop(f"Of the {self.most:,} calls {what}, none are left.", ended_by=self._ended_by)
            self._promised += 1
        try:
            yield
        finally:
            with self._lock:
                self._promised -= 1


_MOST_FAILURES = 10
CALLS_AT_ONCE = 8  # calls that wait for an answer at once


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
class OperationContext:
    """What operations of one store and one key are given."""

    results: Results
    environment: str
    base_url: str
    partner: Partner
    key_fingerprint: Callable[[], str]
    unattributed: list[Exchange]  # on behalf of all sessions, such as checks of the headroom
    usable_service: Callable[[int], ServiceStatus]  # whose quota leaves calls above a reserve; else it raises
    files: Files
    reserve: int
    max_calls: int | None
    clock: Callable[[], datetime]

    def new_operation(self, kind: OperationKind) -> Operation:
        now = self.clock()
        return Operation(
            operation_id=new_id(now), kind=kind, environment=self.environment, base_url=self.base_url, started_at=now
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationWork:
    context: OperationContext
    partner: Partner  # every call of it is written down as a row of `exchanges`
    log: OperationLog
    counts: dict[str, object] = field(default_factory=dict)  # what the receipt says of the work, beside its calls

    @property
    def operation_id(self) -> str:
        return self.log.operation.operation_id

    def call_budget(self, max_calls: int | None = None) -> CallBudget:
        """See that the service can be worked with, and return how many calls a bound or the quota allows."""
        headroom = self.context.usable_service(self.context.reserve).headroom
        self.write_unattributed()
        given = max_calls or self.context.max_calls
        left = None if headroom is None else headroom - self.context.reserve + self.log.counts.calls
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
    operations, fingerprint = Operations(context.results), context.key_fingerprint()
    operation = context.new_operation(kind)
    log = OperationLog(operation, operations, context.clock)
    work = OperationWork(context=context, partner=context.partner.in_new_session(log.note), log=log)
    with sole_process(operations.lease(operation.operation_id)):
        operations.write_intent(operation, {**(intent or {}), "key_fingerprint": fingerprint})  # (1)
        with _receipt_written(work, {"key_fingerprint": fingerprint, "proofsweep_version": __version__}):  # (3)
            yield work  # (2)


@contextmanager
def _receipt_written(work: OperationWork, facts: Mapping[str, object]) -> Iterator[None]:
    ended_by, why = EndedBy.ERROR, None
    try:
        yield
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
        work.log.end(ended_by, {**facts, "counts": work.counts}, why)
