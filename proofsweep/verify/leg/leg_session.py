"""One attempt at a run, from claim to receipt."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from proofsweep.allocators import give_memory_back
from proofsweep.background import background_thread
from proofsweep.endings import EndedBy
from proofsweep.errors import CallFailed, RunMustStop
from proofsweep.logs import Event, log
from proofsweep.model.runs import Plan
from proofsweep.model.tables.columns import Row
from proofsweep.store.key_bindings import bind_key
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex
from proofsweep.verify.item.verify_item import Clock
from proofsweep.verify.leg.canaries import Canary, send_canaries, send_negative_control
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
        service: as it was just examined.
        key_fingerprint: tells the key in use from others; another one may take over during the leg.
        canaries: sent before anything else.
    """

    results: Results
    plan: Plan
    base_url: str
    service: ServiceStatus
    key_fingerprint: Callable[[], str]
    flow_run_id: str | None
    canaries: Sequence[Canary]
    clock: Clock


@dataclass(frozen=True, slots=True)
class ClaimedLeg:
    """The number of a claimed leg, and the cells of its `runs` row that are known when it begins."""

    leg: int
    facts: Row


@contextmanager
def claimed_leg(request: LegRequest) -> Iterator[ClaimedLeg]:
    """Claim the next leg of a run; release it if its context, which is made inside, cannot be made.

    (1) bind the key to the service, (2) claim the leg.

    Raises:
        ResultsError: it cannot be begun; nothing was claimed.
        RunIsActive: another leg is alive.
    """
    bind_key(request.results.store, request.key_fingerprint(), request.base_url)  # (1)
    facts = _leg_facts(request)
    number = open_leg(request.results, request.plan, request.clock, facts)  # (2)
    try:
        yield ClaimedLeg(number, facts)
    except BaseException:
        Legs(request.results, request.plan.run_id, request.clock).release(number)
        raise


@contextmanager
def leg_session(request: LegRequest, claimed: ClaimedLeg, leg: LegContext) -> Iterator[None]:
    """Hold a claimed leg for the work inside.

    (3) keep it alive, (4) settle the legs that died before it, and send canaries and the negative control, (5) settle
    it, however the work ended.
    """
    results, plan, facts = request.results, request.plan, claimed.facts
    started_at, cpu_then = request.clock(), time.process_time()
    log(Event.LEG_OPENED, run_id=plan.run_id, leg=leg.leg, items=plan.items)
    try:
        leg.budget.take_snapshot(request.service.headroom, request.service.quota_reset)
        leg.trail.write_unattributed()
        with (
            background_thread("heartbeat", leg.heartbeat.keep, leg.stop.pull),  # (3)
            background_thread("quota", leg.budget.keep_probing, leg.stop.pull),
        ):
            settle_legs_before(results, plan, request.clock, leg.leg)  # (4)
            send_canaries(leg, request.canaries)
            send_negative_control(leg)
            yield
    except BaseException:
        leg.stop.pull(RunMustStop("The work broke off.", ended_by=EndedBy.ERROR))
        raise
    finally:
        facts = facts | {"started_at": started_at, "quota_after": _headroom(leg)}
        facts |= {"finished_at": max(started_at, request.clock()), "rate_learned": leg.lane.rate}
        give_memory_back()
        _settle(leg, facts, request.clock, time.process_time() - cpu_then + leg.counters.cpu_seconds)  # (5)
        give_memory_back()
        note_leg(results, plan)
    bind_key(results.store, request.key_fingerprint(), request.base_url)  # of a key that took over meanwhile


def _settle(leg: LegContext, facts: Row, clock: Clock, cpu_seconds: float) -> None:
    """Write down what is still in memory, and end the leg."""
    suspects = leg.control.suspects
    end = LegEnd(
        leg=leg.leg,
        ended_by=_ended_by(leg),
        cpu_seconds=cpu_seconds,
        why=leg.stop.reason.message if leg.stop.reason else None,
        quota_reset=leg.budget.quota_reset,
        facts=facts,
        in_doubt=sorted(suspects.put_aside),
        refused_again=sorted(suspects.refused_again),
    )
    leg.trail.write_unattributed()
    leg.journal.flush()
    with background_thread("heartbeat", leg.heartbeat.send_heartbeats):  # the parts of a long run take minutes
        row = settle_leg(leg.results, leg.plan, end, Legs(leg.results, leg.plan.run_id, clock))
    log(Event.LEG_CLOSED, run_id=leg.plan.run_id, leg=leg.leg, ended_by=str(row["ended_by"]))


def _leg_facts(request: LegRequest) -> Row:
    """Return the cells of the `runs` row that are known when a leg begins."""
    service = request.service
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
    return EndedBy.COMPLETE if reason is None else reason.ended_by


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
