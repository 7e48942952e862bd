"""Find the run that a deployment goes on with."""

from collections.abc import Iterator
from datetime import datetime
from itertools import takewhile

from proofsweep.domain.runs import PARTIAL_KINDS, Plan, new_run_id
from proofsweep.reporting.describe_run import describe_run
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.run_index import RunIndex


def unfinished_run_of(results: Results, catalog: str, environment: str, since: datetime) -> str | None:
    """Name the newest run of a catalog that was planned since an instant, if rows of it remain.

    Older unfinished runs do not count: the newest one has planned their rows again.

    Args:
        results: where the runs are.
        catalog: its location as the plan has it.
        environment: the service's label.
        since: an instant in UTC.
    """
    for plan in _newest_first(results, since):
        is_partial = plan.catalog_kind in PARTIAL_KINDS  # a pass over the folder, or a person, goes on with it
        if not is_partial and (plan.catalog, plan.environment) == (catalog, environment):
            return plan.run_id if describe_run(results, plan.run_id).remaining else None
    return None


def run_worked_on_by(results: Results, flow_run_id: str, since: datetime) -> str | None:
    """Name the newest run of which a flow run has claimed a leg; a leg that was killed counts too."""
    for plan in _newest_first(results, since):
        legs = Legs(results, plan.run_id)
        holders = [legs.holder(leg) for leg in legs.numbers()]
        if any(holder is not None and holder.facts.get("flow_run_id") == flow_run_id for holder in holders):
            return plan.run_id
    return None


def _newest_first(results: Results, since: datetime) -> Iterator[Plan]:
    oldest = new_run_id(since, "")
    plans = (record.plan for record in RunIndex(results).refreshed().newest_first())
    return takewhile(lambda plan: plan.run_id >= oldest, plans)
