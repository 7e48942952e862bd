"""Work on a claimed leg: kept alive while it lasts, settled however it ends."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from proofsweep.domain.exchanges import Exchange
from proofsweep.domain.runs import EndedBy
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import CallFailed, RunMustStop
from proofsweep.logs import Event, log
from proofsweep.storage.results.legs import Legs
from proofsweep.usecases.leg.context import LegContext
from proofsweep.usecases.leg.heartbeat import kept_alive
from proofsweep.usecases.leg.settle import LegEnd, settle_leg
from proofsweep.usecases.plan.examine_service import ServiceStatus

_NOBODY_THERE = {EndedBy.BREAKER, EndedBy.KEY_REFUSED}


@contextmanager
def sitting(desk: LegContext, aside: list[Exchange], facts: Row) -> Iterator[None]:
    """Hold a leg open for work; at its end publish what was finished, and say how it ended.

    Args:
        desk: of a leg that this process has claimed.
        aside: exchanges that belong to no row; also those from before the leg.
        facts: cells of the `runs` row that only this process knows.
    """
    legs = Legs(desk.results, desk.plan.run_id, desk.clock)
    started_at, cpu_then = desk.clock(), time.process_time()
    log(Event.LEG_OPENED, run_id=desk.plan.run_id, leg=desk.leg, items=desk.plan.items)
    desk.note_aside(aside)
    try:
        with kept_alive(desk, legs, aside):
            yield
    except BaseException:
        desk.stop.pull(RunMustStop("The work broke off.", ended_by="error"))
        raise
    finally:
        end = LegEnd(
            leg=desk.leg,
            ended_by=_ended_by(desk),
            cpu_seconds=time.process_time() - cpu_then,
            why=desk.stop.reason.message if desk.stop.reason else None,
            quota_reset=desk.allowance.quota_reset,
            facts=facts
            | {"started_at": started_at, "quota_after": _headroom(desk), "finished_at": max(started_at, desk.clock())}
            | {"rate_learned": desk.partner.lane.rate},
        )
        desk.note_aside(aside)
        desk.write_held()
        desk.journal.flush()
        row = settle_leg(desk.results, desk.plan, end, legs)
        log(Event.LEG_CLOSED, run_id=desk.plan.run_id, leg=desk.leg, ended_by=str(row["ended_by"]))


def leg_facts(seen: ServiceStatus, key_fingerprint: str, flow_run_id: str | None) -> Row:
    """Give the cells of the `runs` row that are known when a leg begins."""
    return {
        "key_fingerprint": key_fingerprint,
        "flow_run_id": flow_run_id,
        "quota_before": seen.headroom,
        "service_version": seen.version,
        "service_commit": seen.commit,
        "service_deployed_at": seen.deployed_at,
    }


def _ended_by(desk: LegContext) -> EndedBy:
    reason = desk.stop.reason
    return EndedBy.COMPLETE if reason is None else EndedBy(reason.ended_by)


def _headroom(desk: LegContext) -> int | None:
    """Ask what is left of the quota, unless it is known, or known that nobody would answer."""
    if _ended_by(desk) in _NOBODY_THERE:
        return None
    if _ended_by(desk) is EndedBy.QUOTA and not desk.allowance.ran_out:
        return 0  # the partner said so, and is left alone
    try:
        return desk.partner.with_attempts(1).usage(days=1)[1].rate_remaining
    except (CallFailed, RunMustStop):
        return None
