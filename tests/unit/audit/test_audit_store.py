"""An audit passes what was recorded, and names what was changed since."""

from pathlib import Path

import pytest

from proofsweep.audit import store as module
from proofsweep.audit.findings import Audit, Findings
from proofsweep.audit.store import audit_store, check_snapshot
from proofsweep.domain.errors import ResultsError
from proofsweep.store.legs import Legs
from proofsweep.store.parts import Results
from proofsweep.verify.history import complete_snapshot

from ...worlds.audited_store import NEWEST, TWO_LEGS, end_leg, planned


def wrong(done: Audit) -> list[str]:
    """List what is wrong."""
    return [f"{finding.where} {finding.what}" for finding in done.wrong]


def test_an_untouched_store_passes(results: Results) -> None:
    """Killed legs, resumed runs and pruned parts are what their receipts say."""
    done = audit_store(results)

    assert wrong(done) == []
    assert (done.checked.runs, done.checked.legs, done.checked.rows) == (3, 4, 13)
    assert done.checked.pruned_parts == 2
    assert done.head == Legs(results, NEWEST).receipt_digest(1)


def test_a_single_run_is_checked_without_the_others(results: Results, root: Path) -> None:
    """Only its parts are read; the head is that of the store all the same."""
    (other,) = root.glob(f"verdicts/*/{NEWEST}-*")
    other.unlink()

    done = audit_store(results, TWO_LEGS)

    assert (wrong(done), done.checked.runs, done.checked.rows) == ([], 1, 8)
    assert done.head == audit_store(results).head


def test_a_run_at_work_or_killed_is_a_note(results: Results) -> None:
    """Its rows are not in question yet."""
    plan = planned(results, "20261103T120000Z_000aa", "q")
    Legs(results, plan.run_id).claim(1)

    done = audit_store(results)

    assert wrong(done) == []
    assert [note.where for note in done.notes] == [plan.run_id]


@pytest.mark.parametrize("run_id", ["nobody", "../x"])
def test_a_run_that_is_not_there_is_said(results: Results, run_id: str) -> None:
    """So is a store without runs."""
    with pytest.raises(ResultsError, match=r"^There is no run"):
        audit_store(results, run_id)


def test_shards_without_a_plan_are_no_run(results: Results) -> None:
    """Planning broke off before the run existed."""
    results.store.create("_runs/20261104T120000Z_000aa/shards/00000.parquet", b"")

    assert wrong(audit_store(results)) == []


def test_an_old_head_holds_what_was_there(results: Results) -> None:
    """A store grows; the receipts that are newer than the head are counted."""
    head = audit_store(results).head
    plan = planned(results, "20261103T120000Z_000aa", "q")
    end_leg(results, plan, "q", [0])

    done = audit_store(results, head=head)

    assert wrong(done) == []
    assert [note.what for note in done.notes] == ["does not hold 1 of 6 receipts: they are newer"]


def wrong_in_snapshot(results: Results) -> list[str]:
    """Name what is wrong."""
    findings = Findings()
    check_snapshot(results, findings)
    return [finding.where for finding in findings.wrong]


@pytest.mark.parametrize("step", [1, 3, 5_000])
def test_a_snapshot_that_nobody_changed_passes(results: Results, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it was merged, and in whatever steps it is compared; so does a store without one."""
    monkeypatch.setattr(module, "_STEP_ROWS", step)
    assert wrong_in_snapshot(results) == []
    complete_snapshot(results)
    assert wrong_in_snapshot(results) == []


def test_a_damaged_snapshot_is_found(results: Results, root: Path) -> None:
    """And no traceback."""
    max(root.glob("_snapshot/*/*.parquet")).write_bytes(b"PAR1")

    assert wrong_in_snapshot(results) == ["_snapshot"]
