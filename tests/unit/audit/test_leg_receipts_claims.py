"""What a pruning claims is held against the receipts of its run."""

from dataclasses import replace
from datetime import datetime

import pytest

from proofsweep.audit.leg_receipts import check_claims, read_receipts
from proofsweep.model.findings import Findings
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.prunings import prunings_of

from ...worlds.audited_store import NOW, PRUNED

HELD = {f"_pruned/{PRUNED}/001-intent.json"}


def wrong(results: Results, now: datetime = NOW, **claims: object) -> list[str]:
    """Return what is wrong with the pruning of a run, once it claims something else."""
    findings = Findings()
    prunings = [replace(each, **claims) for each in prunings_of(results.store, PRUNED)]  # type: ignore[arg-type]  # of any member
    receipts = read_receipts(results.store, PRUNED, findings)
    check_claims(results, results.plan(PRUNED), receipts, prunings, HELD, now, findings)
    return [finding.what for finding in findings.wrong]


def test_a_pruning_that_was_made_passes(results: Results) -> None:
    """It is old enough, and the answers of its items are newer elsewhere."""
    assert wrong(results) == []


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"older_than_days": 4_000}, "prunes a run that was not 4000 days old"),
        ({"run_ended_at": "2025-01-09T00:00:00+00:00"}, "names another end of the run than its receipts"),
        ({"decided_at": "2046-01-01T00:00:00+00:00"}, "was decided in the future"),
        ({"decided_at": "soon"}, "has an instant that cannot be read"),
        ({"deleted": ()}, "does not say of each part of verdicts whether it was kept"),
        ({"number": 7}, "is held by no receipt"),
    ],
)
def test_a_false_claim_is_found(results: Results, claims: dict[str, object], said: str) -> None:
    """Of the age, the end, the instant, what was kept, or the receipt that holds it."""
    assert any(what.startswith(said) for what in wrong(results, **claims))
