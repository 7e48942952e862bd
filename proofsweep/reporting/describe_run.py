"""Read the status of a run from its parts and receipts."""

from datetime import UTC, datetime

from proofsweep.domain.runs import EndedBy, Plan
from proofsweep.reporting.run_status import OUTCOMES, Group, LegStatus, RunStatus
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.plans_and_parts import Results


def describe_run(results: Results, run_id: str) -> RunStatus:
    """Read the status of a run from its store.

    Raises:
        ResultsError: there is no such run.
    """
    plan = results.plan(run_id)
    legs = Legs(results, run_id, lambda: datetime.now(UTC))
    statuses = tuple(_leg_status(legs, number) for number in legs.numbers())
    return RunStatus(plan=plan, groups=_groups(results, plan), legs=statuses)


def newest_unfinished(results: Results) -> str | None:
    """Name the newest run with remaining rows; None if there is none."""
    for run_id in reversed(results.run_ids()):
        if describe_run(results, run_id).remaining:
            return run_id
    return None


def _groups(results: Results, plan: Plan) -> tuple[Group, ...]:
    kinds = ["outcome", "verdict", "reason"]
    table = results.table("verdicts", results.parts_of("verdicts", plan), [*kinds, "audio"])
    counted = table.group_by(kinds).aggregate([("audio", "count"), ("audio", "min")]).to_pylist()
    groups = (Group(rows=row.pop("audio_count"), example=row.pop("audio_min"), **row) for row in counted)
    return tuple(sorted(groups, key=lambda group: (OUTCOMES.index(group.outcome), -group.rows, group.reason or "")))


def _leg_status(legs: Legs, number: int) -> LegStatus:
    receipt = legs.receipt(number)
    if receipt is None:
        return LegStatus(leg=number, ended_by=None if legs.is_alive(number) else str(EndedBy.KILLED))
    counts = receipt.get("counts")
    ended_by, why, reset = receipt.get("ended_by"), receipt.get("why"), receipt.get("quota_reset")
    return LegStatus(
        leg=number,
        ended_by=None if ended_by is None else str(ended_by),
        why=None if why is None else str(why),
        quota_reset=None if reset is None else datetime.fromisoformat(str(reset)),
        counts=counts if isinstance(counts, dict) else {},
    )
