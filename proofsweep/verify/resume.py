"""Which run somebody must go on with, and what a flow run that was killed may still spend."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from pydantic import TypeAdapter

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.runs import INGEST, Bounds, Plan
from proofsweep.store.journal import CompletedRows
from proofsweep.store.known_rows import are_known_since
from proofsweep.store.lease import Legs, leg_numbers
from proofsweep.store.parts import Results
from proofsweep.store.runs import LegRecord
from proofsweep.verify.attempt import BOUNDS, settle_last_legs, supersede
from proofsweep.verify.item import Clock

RESUME_DAYS = 35.0  # a catalog's unfinished run goes on first if it was planned at most so long ago
_BOUNDS = TypeAdapter(Bounds)


def resumable_since(now: datetime) -> datetime:
    return now - timedelta(days=RESUME_DAYS)


def run_to_resume(results: Results, unfinished: Iterable[Plan], clock: Clock) -> Plan | None:
    """Return the first of some unfinished runs whose remaining rows no other run has finished; None if there is none.

    One whose last leg was killed when all rows were done is returned too: what it has to tell was not told. Those on
    the way are marked as superseded. RunIsActive if one is worked on.
    """
    for plan in unfinished:
        settle_last_legs(results, plan, clock)
        completed = CompletedRows.load(results, plan)
        rest = (item.item_id for item in completed.items())
        is_own = not completed.remaining or plan.catalog_kind == INGEST  # a pass ends its own runs
        if is_own or not are_known_since(results, plan, rest):
            return plan
        supersede(results, plan, clock)
    return None


def rest_of_retry(
    results: Results, run_id: str, flow_run_id: str, bounds: Bounds, clock: Clock
) -> tuple[str | None, Bounds]:
    """Return the run that a flow run goes on with, which worked on a run before, and what its leg may spend.

    A person's retry goes on with the run that it worked on, and may spend what the flow run might. One that was killed
    has what is left of its bounds. If it had only resumed an older run, it may still plan one of its own: None.
    RunIsActive if the process that was thought dead is alive.
    """
    plan = results.plan(run_id)
    settle_last_legs(results, plan, clock)
    legs = Legs(results.store, run_id)
    holders = {leg: holder for leg in leg_numbers(results.store, plan) if (holder := legs.holder(leg)) is not None}
    own = {leg: holder for leg, holder in holders.items() if holder.facts.get("flow_run_id") == flow_run_id}
    last = max(holders, key=lambda leg: holders[leg].taken_at, default=0)
    noted = holders[last].facts.get(BOUNDS) if last else None
    together = {plan.partition_of_leg(leg): leg for leg in sorted(own) if own[leg].facts[BOUNDS] == noted}
    ended = [LegRecord.of(leg, legs.receipt(leg) or {}) for leg in together.values()]
    if last not in own or not any(leg.ended_by == EndedBy.KILLED for leg in ended):
        return run_id, bounds
    left = _BOUNDS.validate_python(noted)
    if left.max_calls is not None:
        left = replace(left, max_calls=max(0, left.max_calls - sum(leg.count("calls") for leg in ended)))
    has_planned = min(holders) in own
    return run_id if has_planned else None, left
