"""Operations, wired: from settings to the partner, a log and a receipt."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from proofsweep import __version__
from proofsweep.errors import ProofsweepError, RunMustStop
from proofsweep.model.operations import Operation, OperationKind
from proofsweep.model.runs import EndedBy, new_run_id
from proofsweep.operations.call_budget import CallBudget
from proofsweep.operations.operation_log import OperationLog
from proofsweep.partner.partner import Partner
from proofsweep.settings import Settings
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.sole_process import sole_process
from proofsweep.wiring.engines import Engine, ReadBlock, engine_for, utc_now
from proofsweep.wiring.stores import results_for

# Random bytes of an ID. Chosen: as many as those of run IDs have; half could meet in one millisecond.
_TAIL_BYTES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationWork:
    """What an operation works with.

    Attributes:
        partner: every call of it is written down as a row of `exchanges`.
        counts: what the receipt says of the work, beside its calls.
    """

    engine: Engine
    results: Results
    partner: Partner
    log: OperationLog
    counts: dict[str, object] = field(default_factory=dict)


@contextmanager
def operation_begun(
    settings: Settings,
    kind: OperationKind,
    read_block: ReadBlock | None = None,
    *,
    intent: Mapping[str, object] | None = None,
) -> Iterator[OperationWork]:
    """Begin an operation, and write its receipt however the work inside ends.

    Under the lease of the operation: (1) the intent is written before the first call, (2) the work, (3) the receipt.
    `intent` adds facts to the first, never a secret.

    Raises:
        ConfigError, ResultsError: it cannot begin; nothing was called.
    """
    engine, results = engine_for(settings, read_block), results_for(settings)
    operations, fingerprint = Operations(results), engine.key_fingerprint
    operation = new_operation(settings, kind)
    log = OperationLog(operation, operations, utc_now)
    work = OperationWork(engine=engine, results=results, partner=engine.partner.in_new_session(log.note), log=log)
    facts = {"key_fingerprint": fingerprint, "proofsweep_version": __version__}
    with sole_process(operations.lease(operation.operation_id)):
        operations.write_intent(operation, {**(intent or {}), "key_fingerprint": fingerprint})  # (1)
        with _receipt_written(work, facts):  # (3)
            yield work  # (2)


def call_budget(work: OperationWork, settings: Settings, max_calls: int | None = None) -> CallBudget:
    """See that the service can be worked with, and say how many calls may be made: fewer by a bound or by the quota.

    Raises:
        ConfigError, RunMustStop: it cannot be worked with.
    """
    bounds = settings.bounds
    headroom = work.engine.usable_service(bounds.reserve).headroom
    _write_unattributed(work)
    given = max_calls or bounds.max_calls
    left = None if headroom is None else headroom - bounds.reserve + work.log.counts.calls
    if left is not None and (given is None or left < given):
        return CallBudget(work.log, left, EndedBy.QUOTA)
    return CallBudget(work.log, given)


def new_operation(settings: Settings, kind: OperationKind) -> Operation:
    """Name an operation that begins now."""
    now = utc_now()
    return Operation(
        operation_id=new_id(now),
        kind=kind,
        environment=settings.service.environment,
        base_url=settings.service.base_url,
        started_at=now,
    )


def new_id(now: datetime) -> str:
    """Name an operation, or a pass of monitoring; names sort by time."""
    return new_run_id(now, secrets.token_hex(_TAIL_BYTES))


@contextmanager
def _receipt_written(work: OperationWork, facts: Mapping[str, object]) -> Iterator[None]:
    ended_by, why = EndedBy.ERROR, None
    try:
        yield
        ended_by = EndedBy.COMPLETE
    except RunMustStop as stop:
        ended_by, why = EndedBy(stop.ended_by), stop.message
        raise
    except ProofsweepError as error:
        why = error.message
        raise
    except KeyboardInterrupt:
        ended_by = EndedBy.CANCELLED
        raise
    finally:
        _write_unattributed(work)
        work.log.end(ended_by, {**facts, "counts": work.counts}, why)


def _write_unattributed(work: OperationWork) -> None:
    """Write down the calls that were made on behalf of all sessions, such as checks of the headroom."""
    while work.engine.unattributed:
        work.log.note(work.engine.unattributed.pop(0))
