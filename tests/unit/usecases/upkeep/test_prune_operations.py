"""Old inventories and process notes go, but for what is newest; an audit passes, and a kill is healed."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.domain.tables.columns import Row
from proofsweep.query.connection import opened
from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.operations import Operations
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.audit.audit_store import audit_store
from proofsweep.usecases.upkeep.prune import prune

from ....worlds.year_old_store import NOW, found, is_killed_at, prune_all
from ...ended_operations import call_of, leave_operation, operation_named

FIRST, SECOND, KILLED, YOUNG = (f"{day}T010000Z_000aa" for day in ("20250101", "20250201", "20250301", "20261101"))
OTHER = "20250102T010000Z_000bb"


def inventory(results: Results, operation_id: str, environment: str = "beta", *, is_killed: bool = False) -> None:
    """Leave an inventory behind that listed two proofs in two calls."""
    operation = operation_named(operation_id, environment=environment)
    rows: list[Row] = [{"proof_id": proof, "state": "no_file"} for proof in ("p", "q")]
    calls = [call_of(operation, f"{operation_id}-{number}") for number in (1, 2)]
    leave_operation(results, operation, calls, {"proofs": rows}, is_killed=is_killed)


def refresh(results: Results, operation_id: str, **states: str) -> None:
    """Leave a refresh of process notes behind; `states` are by proof."""
    operation = operation_named(operation_id, "interpretations")
    rows: list[Row] = [
        {"proof_id": proof, "status": status, "asks": 1, "asked_at": operation.started_at}
        for proof, status in states.items()
    ]
    leave_operation(results, operation, [call_of(operation, operation_id)], {"interpretations": rows})


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A store without a run."""
    return Results(FolderStore(tmp_path))


def owners(results: Results, table: str) -> list[str]:
    """Name the operations that have a part of a table."""
    return [name.rpartition("/")[2].partition("-")[0] for name in results.all_parts(table)]


def wrong(results: Results) -> list[str]:
    """List what an audit finds."""
    return [f"{each.where} {each.what}" for each in audit_store(results).wrong]


def test_the_newest_whole_inventory_of_each_environment_stays(results: Results) -> None:
    """And what came after it; calls go with their inventory, receipts stay."""
    for operation_id in (FIRST, SECOND):
        inventory(results, operation_id)
    inventory(results, KILLED, is_killed=True)
    inventory(results, OTHER, "production")

    (pruning,) = found(results).of_operations
    assert (pruning.operation, pruning.rows_of("proofs"), pruning.rows_of("exchanges")) == ("inventory", 2, 2)

    assert prune_all(results) == [FIRST]
    assert owners(results, "proofs") == owners(results, "exchanges") == [OTHER, SECOND, KILLED]
    assert FIRST in Operations(results).ids()
    assert (wrong(results), audit_store(results).checked.pruned_parts) == ([], 2)
    assert prune_all(results) == []
    inventory(results, YOUNG)
    assert prune_all(results) == [SECOND, KILLED]
    assert wrong(results) == []


def test_newest_and_ready_notes_stay(results: Results) -> None:
    """A part goes once each of its notes has a newer one, and a newer ready one if it was ready."""
    refresh(results, FIRST, a="pending", b="pending")
    refresh(results, SECOND, a="ready", b="pending")
    refresh(results, KILLED, a="failed", b="ready")
    refresh(results, YOUNG, a="pending")

    assert prune_all(results) == [FIRST]

    assert owners(results, "interpretations") == [SECOND, KILLED, YOUNG]
    refresh(results, "20261102T010000Z_000aa", a="ready")
    assert prune_all(results) == [SECOND]
    assert wrong(results) == []
    with opened(results, with_tags=False) as store:
        assert store.connection.execute("SELECT count(*) FROM interpretations WHERE status = 'ready'").fetchone() == (
            2,
        )


@pytest.mark.parametrize("kind", ["erasure", "rotation", "recovery"])
def test_receipts_of_what_was_done_stay_for_ever(results: Results, kind: str) -> None:
    """With their calls."""
    operation, at = operation_named(FIRST, kind), datetime(2025, 1, 1, tzinfo=UTC)
    erasure: Row = {"proof_id": "p", "asked_at": at, "answered_at": at}
    leave_operation(results, operation, [call_of(operation, "r")], {"erasures": [erasure]})

    assert found(results).all == []


def test_a_part_that_vanished_without_a_pruning_is_found(results: Results, tmp_path: Path) -> None:
    """And one whose pruning says another digest than the receipt."""
    inventory(results, FIRST)
    inventory(results, SECOND)
    prune_all(results)
    (intent,) = (tmp_path / "_pruned").rglob("*-intent.json")
    said = intent.read_text()

    intent.write_text(said.replace('"rows": 2', '"rows": 3'))
    assert any("the pruning names another digest" in each for each in wrong(results))
    shutil.rmtree(tmp_path / "_pruned")
    assert any("is missing; the receipt of its operation names it" in each for each in wrong(results))


def test_a_kill_at_each_step_is_healed_by_pruning_again(results: Results, tmp_path: Path) -> None:
    """Also if another process prunes at the same moment."""
    inventory(results, FIRST)
    inventory(results, SECOND)
    refresh(results, FIRST.replace("_000aa", "_000cc"), a="pending")
    refresh(results, SECOND.replace("_000aa", "_000cc"), a="ready")
    for steps in range(99):
        root = tmp_path.with_name(f"pruned-at-{steps}")
        shutil.copytree(tmp_path, root)
        killed = Results(FolderStore(root))
        was_killed = is_killed_at(killed, steps)
        assert wrong(killed) == []
        late = found(killed)
        prune_all(killed)
        prune(killed, late, lambda: NOW)
        assert wrong(killed) == []
        assert [len(owners(killed, table)) for table in ("proofs", "interpretations", "exchanges")] == [1, 1, 2]
        if not was_killed:
            break
    assert not was_killed
    assert steps > 6
