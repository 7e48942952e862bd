"""Find the run that a retried flow run goes on with."""

from datetime import datetime
from itertools import takewhile

from proofsweep.domain.runs import new_run_id
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.run_index import RunIndex


def run_worked_on_by(results: Results, flow_run_id: str, since: datetime) -> str | None:
    """Name the newest run of which a flow run has claimed a leg; a leg that was killed counts too.

    A run that was superseded meanwhile does not count.
    """
    oldest = new_run_id(since, "")
    runs = takewhile(lambda run: run.plan.run_id >= oldest, RunIndex(results).refreshed().newest_first())
    for plan in (run.plan for run in runs if not run.is_superseded):
        legs = Legs(results, plan.run_id)
        holders = [legs.holder(leg) for leg in legs.numbers()]
        if any(holder is not None and holder.facts.get("flow_run_id") == flow_run_id for holder in holders):
            return plan.run_id
    return None
