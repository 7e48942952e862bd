"""The erasures of a file's proofs are found by the proofs that its answers named."""

from datetime import UTC, datetime
from pathlib import Path

from proofsweep.domain.erasure import Erasure
from proofsweep.domain.occurrences import Occurrence
from proofsweep.domain.tables.columns import Row
from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.explain.erased import erasures_of

from ...ended_operations import leave_operation, operation_named
from ...ended_runs import answered, plan_of_run

PLAN = plan_of_run("20261119T020000Z_000aa", items=1)


def erasure(proof_id: str, day: int, outcome: str | None = "erased") -> Row:
    """Make the row of an erasure in November."""
    at = datetime(2026, 11, day, tzinfo=UTC)
    return Erasure(proof_id=proof_id, asked_at=at, answered_at=at, outcome=outcome).row()


def occurrence(**cells: object) -> Occurrence:
    """Make what happened to the item in the run."""
    return Occurrence(plan=PLAN, manifest_row=0, row=answered(PLAN, 0, "a", **cells), exchanges=[])


def test_only_erasures_of_the_item_s_proofs_in_its_environment_are_found(tmp_path: Path) -> None:
    """The newest first; a failed one erased nothing, and another environment has its own proofs."""
    results = Results(FolderStore(tmp_path))
    rows = [erasure("p1", 20), erasure("p1", 21, "already_erased"), erasure("p1", 22, None), erasure("p2", 20)]
    leave_operation(results, operation_named("20261120T020000Z_000bb", "erasure"), rows={"erasures": rows})
    elsewhere = operation_named("20261123T020000Z_000cc", "erasure", environment="production")
    leave_operation(results, elsewhere, rows={"erasures": [erasure("p1", 23)]})

    found = erasures_of(results, [occurrence(proof_id=None), occurrence(proof_id="p1")])

    assert [(row["proof_id"], row["outcome"]) for row in found] == [("p1", "already_erased"), ("p1", "erased")]


def test_an_item_without_a_proof_has_none(tmp_path: Path) -> None:
    """The table is not even read."""
    assert erasures_of(Results(FolderStore(tmp_path)), [occurrence(proof_id=None)]) == []
