"""A proof is found in every table that names it."""

from datetime import UTC, datetime
from pathlib import Path

from proofsweep.domain.erasure import Erasure
from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.explain.find_proof import find_proof

from ...ended_operations import leave_operation, operation_named
from ...ended_runs import answered, end_leg, plan_of_run

PLAN = plan_of_run("20261119T020000Z_000aa", items=3)


def test_all_rows_of_a_proof_come_newest_first(tmp_path: Path) -> None:
    """Also the row of a proof that was verified by its ID, and got no answer."""
    results, at = Results(FolderStore(tmp_path)), datetime(2026, 11, 21, tzinfo=UTC)
    rows = [
        answered(PLAN, 0, "a", proof_id="p1"),
        answered(PLAN, 1, "b", "failed", audio="proof:p1"),
        answered(PLAN, 2, "c", proof_id="p11"),
    ]
    end_leg(results, PLAN, rows)
    erasure = Erasure(proof_id="p1", asked_at=at, answered_at=at, outcome="erased")
    leave_operation(results, operation_named("20261121T000000Z_000bb", "erasure"), rows={"erasures": [erasure.row()]})

    found = find_proof(results, "p1")

    assert [table for table, _, _ in found] == ["erasures", "verdicts", "verdicts"]
    assert {row["item_id"] for table, _, row in found if table == "verdicts"} == {"a", "b"}
    assert find_proof(results, "p2") == []
