"""Which notes are asked for: of accepted proofs, until one is ready."""

from datetime import timedelta
from pathlib import Path

from proofsweep.operations.refresh_notes import wanted_notes
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from ..ended_operations import leave_operation, operation_named
from ..ended_runs import answered, end_leg, plan_of_run

REFRESH = operation_named("20261121T120000Z_000aa", "interpretations")
ASKED = REFRESH.started_at


def test_ready_and_gone_notes_are_not_asked_for_again(tmp_path: Path) -> None:
    """Never asked comes first; what is unavailable waits for a week; a rejected file's proof has no part in it."""
    results = Results(FolderStore(tmp_path))
    states = ["ready", "gone", "unavailable", "pending", "failed"]
    plan = plan_of_run("20261120T010000Z_000aa", items=10)
    rows = [answered(plan, number, state, proof_id=state) for number, state in enumerate(states)]
    rows += [answered(plan, 5, "new", proof_id="new"), answered(plan, 6, "bad", "rejected", proof_id="bad")]
    rows += [answered(plan, 7 + each, f"odd {each}", proof_id="." * each) for each in range(3)]  # no proof IDs
    end_leg(results, plan, rows)
    notes = [{"proof_id": state, "status": state, "asks": 1, "asked_at": ASKED} for state in states]
    leave_operation(results, REFRESH, rows={"interpretations": notes})

    soon = wanted_notes(results, "beta", ASKED + timedelta(days=1))
    later = wanted_notes(results, "beta", ASKED + timedelta(days=8))

    assert [(each.proof_id, each.item_id) for each in soon] == [
        ("new", "new"),
        ("failed", "failed"),
        ("pending", "pending"),
    ]
    assert {each.proof_id for each in later} == {"new", "failed", "pending", "unavailable"}


def test_a_proof_that_is_accepted_again_is_not_gone(tmp_path: Path) -> None:
    """The newest answer knows better."""
    results = Results(FolderStore(tmp_path))
    plan = plan_of_run("20261122T010000Z_000aa")
    end_leg(results, plan, [answered(plan, 0, "a", proof_id="p")])
    note = {"proof_id": "p", "status": "gone", "asks": 1, "asked_at": ASKED}
    leave_operation(results, REFRESH, rows={"interpretations": [note]})

    assert [each.proof_id for each in wanted_notes(results, "beta", ASKED)] == ["p"]
