"""Begin an operation, and write its receipt however its work ends."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from proofsweep import __version__
from proofsweep.endings import EndedBy
from proofsweep.errors import ProofsweepError, RunMustStop
from proofsweep.files.files import Files
from proofsweep.model.exchanges import Exchange
from proofsweep.model.operations import Operation, OperationKind
from proofsweep.operations.call_budget import CallBudget
from proofsweep.operations.operation_log import OperationLog, new_id
from proofsweep.partner.partner import Partner
from proofsweep.store.lease import sole_process
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results
from proofsweep.verify.plan.examine_service import ServiceStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationContext:
    """What operations of one store and one key are given.

    Attributes:
        unattributed: calls that were made on behalf of all sessions, such as checks of the headroom.
        usable_service: examines the service, and sees that its quota leaves calls above a reserve.
    """

    results: Results
    environment: str
    base_url: str
    partner: Partner
    key_fingerprint: Callable[[], str]
    unattributed: list[Exchange]
    usable_service: Callable[[int], ServiceStatus]
    files: Files
    reserve: int
    max_calls: int | None
    clock: Callable[[], datetime]

    def new_operation(self, kind: OperationKind) -> Operation:
        """Name an operation that begins now."""
        now = self.clock()
        return Operation(
            operation_id=new_id(now), kind=kind, environment=self.environment, base_url=self.base_url, started_at=now
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationWork:
    """What an operation works with."""

    context: OperationContext
    partner: Partner  # every call of it is written down as a row of `exchanges`
    log: OperationLog
    counts: dict[str, object] = field(default_factory=dict)  # what the receipt says of the work, beside its calls

    @property
    def operation_id(self) -> str:
        """The operation's name."""
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
        """Write down the calls that belong to no session."""
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
