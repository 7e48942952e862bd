"""Hold what a pruning claims against the receipts: how old the run was, what stayed, and what holds the pruning."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from proofsweep.audit.findings import Findings
from proofsweep.audit.leg_receipts import LegReceipt
from proofsweep.errors import ResultsError
from proofsweep.model import layout
from proofsweep.model.pruning import Pruning
from proofsweep.model.runs import Plan
from proofsweep.store.plans_and_parts import Results

# A clock of another machine may be ahead by so much.
_TOLERANCE = timedelta(days=1)


def check_claims(  # noqa: PLR0917 - the two sides that are compared
    results: Results,
    plan: Plan,
    receipts: Mapping[int, LegReceipt],
    prunings: Sequence[Pruning],
    held: Collection[str],
    now: datetime,
    findings: Findings,
) -> None:
    """Check the prunings of one run, the oldest first; `held` are the names of all objects that receipts hold."""
    ends = [str(each.counts["finished_at"]) for each in receipts.values() if each.counts.get("finished_at")]
    ended = max(map(datetime.fromisoformat, [*ends, plan.created_at]))
    gone: set[str] = set()
    for pruning in prunings:
        name = layout.pruning_intent_name(plan.run_id, pruning.number)
        gone |= {each.name for each in pruning.deleted}
        for what in _false_claims(pruning, ended, now):
            findings.bad(name, what)
        if name not in held:
            findings.bad(name, "is held by no receipt: repeat proofsweep prune if it was interrupted; else it is false")
    named = {part.name for receipt in receipts.values() for part in receipt.parts if part.name.startswith("verdicts/")}
    if prunings and named - gone != set(prunings[-1].kept) & named:
        name = layout.pruning_intent_name(plan.run_id, prunings[-1].number)
        findings.bad(name, "does not say of each part of verdicts whether it was kept")
    if named and named <= gone and not _is_answered_elsewhere(results, plan):
        findings.bad(plan.run_id, f"has lost all answers to a pruning, and no other run of {plan.environment} has any")


def _false_claims(pruning: Pruning, ended: datetime, now: datetime) -> list[str]:
    try:
        decided, said = map(datetime.fromisoformat, (pruning.decided_at, pruning.run_ended_at))
        is_old = decided - ended >= timedelta(days=max(1, pruning.older_than_days))
        found = [] if is_old else [f"prunes a run that was not {pruning.older_than_days} days old: it ended {ended}"]
        found += [] if said == ended.replace(microsecond=0) else ["names another end of the run than its receipts"]
        return found + (["was decided in the future"] if decided > now + _TOLERANCE else [])
    except (ValueError, TypeError):
        return ["has an instant that cannot be read"]


def _is_answered_elsewhere(results: Results, plan: Plan) -> bool:
    """Say whether another run of the environment has a part of verdicts; the newest runs are asked first."""
    for run_id in reversed(results.store.folders("_runs")):
        if run_id != plan.run_id:
            try:
                other = results.plan(run_id)
                if other.environment == plan.environment and results.parts_of("verdicts", other):
                    return True
            except (ResultsError, ValueError, TypeError, KeyError):
                continue  # a finding already
    return False
