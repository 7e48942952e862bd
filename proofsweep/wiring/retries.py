"""Flow runs that Prefect runs again: a person's retry, or the rest of one whose process was killed."""

from dataclasses import replace

from pydantic import TypeAdapter

from proofsweep.answers.describe_run import run_worked_on_by
from proofsweep.endings import EndedBy
from proofsweep.model.bounds import Bounds
from proofsweep.settings import Settings
from proofsweep.store.legs import Legs
from proofsweep.verify.leg.leg_session import BOUNDS, settle_last_leg
from proofsweep.wiring.engines import utc_now
from proofsweep.wiring.runs import resumable_since
from proofsweep.wiring.stores import results_for

_BOUNDS = TypeAdapter(Bounds)


def run_of_retry(settings: Settings, flow_run_id: str | None, bounds: Bounds) -> tuple[str | None, Bounds]:
    """Return the run that a flow run goes on with, and what its leg may spend; None if it begins as for the first time.

    A person's retry goes on with the run that it worked on, and may spend what the flow run might. One that was killed
    has what is left of its bounds. If it had only resumed an older run, it may still plan one of its own.
    RunIsActive if the process that was thought dead is alive.
    """
    results = results_for(settings)
    run_id = None if flow_run_id is None else run_worked_on_by(results, flow_run_id, resumable_since())
    if run_id is None:
        return None, bounds
    settle_last_leg(results, results.plan(run_id), utc_now)
    legs = Legs(results, run_id)
    last, first = legs.holder(legs.last()), legs.holder(1)
    receipt = legs.receipt(legs.last()) or {}
    was_killed = receipt.get("ended_by") == EndedBy.KILLED
    if last is None or not was_killed or last.facts.get("flow_run_id") != flow_run_id:
        return run_id, bounds
    has_planned = first is not None and first.facts.get("flow_run_id") == flow_run_id
    return run_id if has_planned else None, _left_of(last.facts[BOUNDS], receipt)


def _left_of(claimed: object, receipt: dict[str, object]) -> Bounds:
    bounds, counts = _BOUNDS.validate_python(claimed), receipt.get("counts")
    spent = int(counts["calls"]) if isinstance(counts, dict) else 0
    return bounds if bounds.max_calls is None else replace(bounds, max_calls=max(0, bounds.max_calls - spent))
