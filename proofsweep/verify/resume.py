"""Which run somebody must go on with, and what a flow run that was killed may still spend."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from pydantic import TypeAdapter

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.items import WorkItem
from proofsweep.domain.runs import INGEST, Bounds, Plan
from proofsweep.store.journal import CompletedRows
from proofsweep.store.known_rows import are_known_since
from proofsweep.store.parts import Results
from proofsweep.verify.attempt import settle_last_legs, supersede
from proofsweep.verify.item import Clock
from proofsweep.verify.repair import BOUNDS

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
        # A pass ends its own runs. Of another run, later ones may have verified all that remains of it.
        if not completed.remaining or plan.catalog_kind == INGEST:
            return plan
        remaining = (item.item_id for item in completed.items())
        if not are_known_since(results, plan, remaining):
            return plan
        supersede(results, plan, clock)
    return None


def rows_of_resumed(results: Results, resumed: Plan | None, due_before: datetime | None) -> Iterable[WorkItem] | None:
    """Return the items that a run of what is due leaves out, as a run went on before it that has them.

    Those that remain there are its next leg's. Where no age says which answers are due again, its others were answered
    too, by this leg or an earlier one, and are not paid twice.
    """
    if resumed is None:
        return None
    if due_before is None:
        return results.items(resumed)
    return CompletedRows.load(results, resumed).items()


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
    record = results.log.runs().records[run_id]
    begun = sorted(record.begun, key=lambda leg: leg.entry)
    own = [leg for leg in begun if leg.holder.facts.get("flow_run_id") == flow_run_id]
    if not own or begun[-1] is not own[-1]:
        return run_id, bounds
    # The last legs of its partitions began together, and shared these bounds.
    noted = own[-1].holder.facts[BOUNDS]
    last_legs: dict[int, int] = {}
    for leg in own:
        if leg.holder.facts[BOUNDS] == noted:
            partition = plan.partition_of_leg(leg.leg)
            last_legs[partition] = leg.leg
    ended = [leg for leg in record.legs if leg.leg in last_legs.values()]
    if not any(leg.ended_by == EndedBy.KILLED for leg in ended):
        return run_id, bounds
    left = _BOUNDS.validate_python(noted)
    if left.max_calls is not None:
        calls = sum(leg.count("calls") for leg in ended)
        left = replace(left, max_calls=max(0, left.max_calls - calls))
    has_planned = begun[0] is own[0]
    return run_id if has_planned else None, left
