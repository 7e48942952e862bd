"""Operations, wired: from settings to the partner, a log and a receipt."""

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from proofsweep import __version__
from proofsweep.alerts.facts import recent_probes
from proofsweep.alerts.messages import Alert
from proofsweep.alerts.monitoring_alerts import MonitorRules, alerts_of_probes
from proofsweep.endings import EndedBy
from proofsweep.errors import ProofsweepError, ResultsError, RunMustStop
from proofsweep.logs import Event, log
from proofsweep.model.operations import Operation, OperationKind
from proofsweep.model.proofs import NotesRefreshed
from proofsweep.model.runs import new_run_id
from proofsweep.model.tables.columns import Row
from proofsweep.operations.call_budget import CallBudget, OutageGuard
from proofsweep.operations.operation_log import OperationLog
from proofsweep.operations.probe_service import ProbeBatch, probe_service
from proofsweep.operations.refresh_notes import NoteRefresh, wanted_notes
from proofsweep.partner.partner import Partner
from proofsweep.settings import Settings
from proofsweep.store.lease import sole_process
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.probes import add_pass, publish_hours
from proofsweep.wiring.alerts import AlertEvent
from proofsweep.wiring.engines import Engine, ReadBlock, build_engine, engine_for, utc_now
from proofsweep.wiring.stores import results_for

# Random bytes of an ID. Chosen: as many as those of run IDs have.
_TAIL_BYTES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationWork:
    """What an operation works with."""

    engine: Engine
    results: Results
    partner: Partner  # every call of it is written down as a row of `exchanges`
    log: OperationLog
    counts: dict[str, object] = field(default_factory=dict)  # what the receipt says of the work, beside its calls


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
    `intent` adds facts to the first, never a secret. ConfigError or ResultsError if it cannot begin; nothing was
    called.
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
    """See that the service can be worked with, and return how many calls a bound or the quota allows."""
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
        ended_by, why = stop.ended_by, stop.message
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


def refresh_interpretations(
    settings: Settings, read_block: ReadBlock | None = None, max_calls: int | None = None
) -> NotesRefreshed:
    """Ask for the notes of accepted proofs that have no ready one, with as many calls as settings and quota allow."""
    wanted = wanted_notes(results_for(settings), settings.service.environment, utc_now())
    if not wanted:
        return NotesRefreshed(operation_id=None, wanted=0, states={})
    with operation_begun(settings, OperationKind.INTERPRETATIONS, read_block) as work:
        states: Counter[str] = Counter()
        work.counts.update({"wanted": len(wanted), "states": states})
        refresh = NoteRefresh(
            partner=work.partner,
            log=work.log,
            budget=call_budget(work, settings, max_calls),
            outage=OutageGuard(work.partner),
            clock=utc_now,
            states=states,
        )
        refresh.run(wanted)
    return NotesRefreshed(operation_id=work.log.operation.operation_id, wanted=len(wanted), states=states)


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitored:
    """One pass, and what its probes and those before it show."""

    settings: Settings
    batch: ProbeBatch
    alerts: Sequence[Alert]  # that hold now, told before or not
    over: Sequence[str] = field(default_factory=list)  # the begins of causes that are over

    @property
    def event(self) -> AlertEvent:
        """Return what tells somebody."""
        return AlertEvent(self.settings, lambda: (self.alerts, self.over))


def monitor_service(settings: Settings, read_block: ReadBlock | None = None) -> Monitored:
    """Make one pass of monitoring, with an engine of its own: no earlier failure must hold this probe back."""
    engine, results, began = build_engine(settings, read_block), results_for(settings), utc_now()
    try:
        found = probe_service(engine.partner)
    finally:
        engine.close()
    pass_id, service = new_id(began), settings.service
    own: Row = {"operation_id": pass_id, "environment": service.environment, "base_url": service.base_url}
    add_pass(results, pass_id, began, found.rows(own))
    try:
        publish_hours(results, began)
    except ResultsError as error:  # the next pass does it
        log(Event.UPDATE_MISSED, what="monitoring", why=error.message)
    rules = MonitorRules(
        environment=settings.service.environment,
        low_quota_percent=settings.alerts.low_quota_percent,
        slow_factor=settings.alerts.slow_factor,
    )
    alerts, over = alerts_of_probes(recent_probes(results, rules.environment, utc_now()), rules)
    return Monitored(settings=settings, batch=found, alerts=alerts, over=over)
