"""One attempt at a run, from claim to receipt."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from proofsweep.allocators import give_memory_back
from proofsweep.errors import CallFailed, ConfigError, RunMustStop
from proofsweep.logs import Event, log
from proofsweep.model.runs import EndedBy, Plan
from proofsweep.model.tables.columns import Row
from proofsweep.store.background import background_thread
from proofsweep.store.key_bindings import bind_key
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex
from proofsweep.verify.control.canaries import Canary, send_canaries, send_negative_control
from proofsweep.verify.item.item_work import Clock
from proofsweep.verify.leg.leg_context import LegContext
from proofsweep.verify.leg.note_leg import note_leg
from proofsweep.verify.leg.open import open_leg, settle_legs_before
from proofsweep.verify.leg.settle import LegEnd, settle_leg
from proofsweep.verify.plan.examine_service import ServiceStatus

_NO_ANSWER = {EndedBy.BREAKER, EndedBy.KEY_REFUSED}


@dataclass(frozen=True, slots=True, kw_only=True)
class LegRequest:
    """What a leg is to be opened with.

    Attributes:
        service: examines the service; raises where a leg cannot begin.
        key_fingerprint: tells the key in use from others; another one may take over during the leg.
        canaries: sent before anything else.
        context_of: makes the context of the leg with this number, once it is claimed.
    """

    results: Results
    plan: Plan
    environment: str
    base_url: str
    service: Callable[[], ServiceStatus]
    key_fingerprint: Callable[[], str]
    flow_run_id: str | None
    canaries: Sequence[Canary]
    clock: Clock
    context_of: Callable[[int], LegContext]


@contextmanager
def leg_session(request: LegRequest) -> Iterator[LegContext]:
    """Hold the next leg of a run for the work inside.

    (1) examine the service and bind the key to it, (2) claim the leg, (3) keep it alive, (4) settle the legs that died
    before it, and send canaries and the negative control, (5) settle it, however the work ended.

    Raises:
        ConfigError, ResultsError: it cannot be begun; nothing was claimed.
        RunIsActive: another leg is alive.
    """
    results, plan = request.results, request.plan
    _refuse_other_environment(plan, request.environment)
    service = request.service()  # (1)
    bind_key(results.store, request.key_fingerprint(), request.base_url)
    facts = _leg_facts(request, service)
    leg = _claimed_leg(request, facts)  # (2)
    started_at, cpu_then = request.clock(), time.process_time()
    log(Event.LEG_OPENED, run_id=plan.run_id, leg=leg.leg, items=plan.items)
    try:
        leg.budget.take_snapshot(service.headroom, service.quota_reset)
        leg.trail.write_unattributed()
        with (
            background_thread("heartbeat", leg.heartbeat.keep, leg.stop),  # (3)
            background_thread("quota", leg.budget.keep_probing, leg.stop),
        ):
            settle_legs_before(results, plan, request.clock, leg.leg)  # (4)
            send_canaries(leg, request.canaries)
            send_negative_control(leg)
            yield leg
    except BaseException:
        leg.stop.pull(RunMustStop("The work broke off.", ended_by="error"))
        raise
    finally:
        facts |= {"started_at": started_at, "quota_after": _headroom(leg)}
        facts |= {"finished_at": max(started_at, request.clock()), "rate_learned": leg.lane.rate}
        give_memory_back()
        _settle(leg, facts, request.clock, time.process_time() - cpu_then + leg.counters.cpu_seconds)  # (5)
        give_memory_back()
        note_leg(results, plan)
    bind_key(results.store, request.key_fingerprint(), request.base_url)  # of a key that took over meanwhile


def _claimed_leg(request: LegRequest, facts: Row) -> LegContext:
    """Claim the next leg and make its context; release the claim if that fails."""
    number = open_leg(request.results, request.plan, request.clock, facts)
    try:
        return request.context_of(number)
    except BaseException:
        Legs(request.results, request.plan.run_id, request.clock).release(number)
        raise


def _settle(leg: LegContext, facts: Row, clock: Clock, cpu_seconds: float) -> None:
    """Write down what is still in memory, and end the leg."""
    end = LegEnd(
        leg=leg.leg,
        ended_by=_ended_by(leg),
        cpu_seconds=cpu_seconds,
        why=leg.stop.reason.message if leg.stop.reason else None,
        quota_reset=leg.budget.quota_reset,
        facts=facts,
        in_doubt=sorted(leg.control.put_aside),
        refused_again=sorted(leg.control.suspects.refused_again),
    )
    leg.trail.write_unattributed()
    leg.journal.flush()
    with background_thread("heartbeat", leg.heartbeat.keep_beating):  # the parts of a long run take minutes
        row = settle_leg(leg.results, leg.plan, end, Legs(leg.results, leg.plan.run_id, clock))
    log(Event.LEG_CLOSED, run_id=leg.plan.run_id, leg=leg.leg, ended_by=str(row["ended_by"]))


def _refuse_other_environment(plan: Plan, environment: str) -> None:
    if plan.environment != environment:
        raise ConfigError(
            f"Run {plan.run_id} was planned for {plan.environment}, but the settings are for {environment}; give the "
            "config it was planned with."
        )


def _leg_facts(request: LegRequest, service: ServiceStatus) -> Row:
    """Return the cells of the `runs` row that are known when a leg begins."""
    return {
        "key_fingerprint": request.key_fingerprint(),
        "flow_run_id": request.flow_run_id,
        "epoch": RunIndex(request.results, request.clock).epoch(),
        "quota_before": service.headroom,
        "service_version": service.version,
        "service_commit": service.commit,
        "service_deployed_at": service.deployed_at,
    }


def _ended_by(leg: LegContext) -> EndedBy:
    reason = leg.stop.reason
    return EndedBy.COMPLETE if reason is None else EndedBy(reason.ended_by)


def _headroom(leg: LegContext) -> int | None:
    """Ask what is left of the quota, unless it is known, or known that there will be no answer."""
    if _ended_by(leg) in _NO_ANSWER:
        return None
    if _ended_by(leg) is EndedBy.QUOTA and not leg.budget.ran_out:
        return 0  # the service said so, and is left alone
    try:
        return leg.verify.partner.with_attempts(1).usage(days=1)[1].rate_remaining
    except (CallFailed, RunMustStop):
        return None
