"""Listed proofs are held against the newest answers, one row for each."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.contract.models import ProofSummary
from proofsweep.model.tables.columns import Row
from proofsweep.model.tables.proofs import COLUMNS
from proofsweep.operations.reconcile import arrow_of, reconciled
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from ..ended_runs import answered, end_leg, plan_of_run

ISSUED = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(FolderStore(tmp_path))


def listed(proof_id: str, **members: object) -> ProofSummary:
    """Make an item of the listing."""
    return ProofSummary.model_validate({"proofId": proof_id, "song": "s", "issuedAt": ISSUED.timestamp()} | members)


def rows_of(results: Results, *proofs: ProofSummary, environment: str = "beta") -> dict[str, Row]:
    """Reconcile, and give the rows by proof."""
    found = [row for rows in reconciled(results, environment, [arrow_of(proofs)]) for row in rows]
    assert len(found) == len({row["proof_id"] for row in found})
    return {str(row["proof_id"]): row for row in found}


def test_each_proof_has_its_state(results: Results) -> None:
    """A rejected file's proof is not missed; a classification that either side lacks does not differ.

    What is no proof ID is none, even where the service calls it one.
    """
    plan = plan_of_run("20261120T010000Z_000aa", items=9)
    facts: Row = {"issued_at": ISSUED, "classification": "human"}
    rows = [
        answered(plan, 0, "a", proof_id="same", **facts),
        answered(plan, 1, "b", proof_id="other class", **facts),
        answered(plan, 2, "c", proof_id="other time", **facts | {"issued_at": ISSUED.replace(day=2)}),
        answered(plan, 3, "d", proof_id="gone", **facts),
        answered(plan, 4, "e", "rejected", proof_id="rejected", **facts),
        answered(plan, 5, "f", proof_id="same", **facts),
    ]
    rows += [answered(plan, 6 + each, f"odd {each}", proof_id="." * each, **facts) for each in range(3)]
    end_leg(results, plan, rows)

    found = rows_of(
        results,
        listed("same"),
        listed("other class", classification="mixed"),
        listed("other time", classification="human"),
        listed("new", hasFeedback=True),
    )

    assert {name: (row["state"], row["differs"], row["files"]) for name, row in found.items()} == {
        "same": ("matched", None, 2),
        "other class": ("differs", "classification", 1),
        "other time": ("differs", "issued_at", 1),
        "new": ("no_file", None, 0),
        "gone": ("not_listed", None, 1),
    }
    assert (found["same"]["item_id"], found["same"]["audio"]) == ("f", "/c/f")
    assert (found["new"]["has_feedback"], found["gone"]["song"]) == (True, None)
    assert set(found["same"]) == {column.name for column in COLUMNS} - {"operation_id", "environment"}


def test_answers_of_another_environment_do_not_count(results: Results) -> None:
    """Each environment has a registry of its own; a store without a run has no answers."""
    assert rows_of(results, listed("p"))["p"]["state"] == "no_file"
    plan = plan_of_run("20261120T010000Z_000aa", environment="production")
    end_leg(results, plan, [answered(plan, 0, "a", proof_id="p")])

    assert rows_of(results, listed("p"))["p"]["state"] == "no_file"
    assert rows_of(results, listed("p"), environment="production")["p"]["state"] == "matched"
