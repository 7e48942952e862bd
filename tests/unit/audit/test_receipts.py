"""What a run's documents say is held against the ledger and each other; what is damaged is one finding."""

import json
from pathlib import Path

import pytest

from proofsweep.audit.ledger import checked_head
from proofsweep.audit.store import audit_store
from proofsweep.domain.errors import UsageError
from proofsweep.store.layout import receipt_name, runs_name
from proofsweep.store.objects import json_bytes, sha256_hex
from proofsweep.store.parts import Results

from ...worlds.audited_store import NEWEST, PRUNED, TWO_LEGS, end_leg, planned
from .conftest import forge_newest_entry

RECEIPT = receipt_name(NEWEST, 1)


def found(results: Results) -> list[str]:
    return [f"{finding.where} {finding.what}" for finding in audit_store(results).wrong]


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"{}", b"\xff", b'{"run_id": "r", "leg": []}'])
def test_what_is_no_receipt_is_one_finding(results: Results, root: Path, content: bytes) -> None:
    """And no traceback, even if the ledger has its digest."""
    (root / RECEIPT).write_bytes(content)
    assert [finding.where for finding in audit_store(results).wrong] == [RECEIPT]

    forge_newest_entry(root)
    assert found(results) == [f"{RECEIPT} cannot be read as a receipt"]


@pytest.mark.parametrize(
    ("members", "what"),
    [
        ({"plan_sha256": "0"}, f"_runs/{NEWEST}/plan.json was changed"),
        ({"parts": [{"name": "verdicts/x-001.parquet", "rows": 1, "sha256": ""}]}, f"{RECEIPT} names verdicts/x-001"),
        ({"parts": []}, f"{RECEIPT} says remaining = 0; the parts and the plan make it 5"),
    ],
)
def test_a_contradiction_is_named(results: Results, root: Path, members: dict[str, object], what: str) -> None:
    """With a receipt that the newest entry was rewritten for."""
    (root / RECEIPT).write_text(json.dumps(json.loads((root / RECEIPT).read_text()) | members))
    forge_newest_entry(root)

    assert any(finding.startswith(what) for finding in found(results))


def test_a_leg_without_its_lease_is_found(results: Results, root: Path) -> None:
    """Readers take it for no leg."""
    (root / f"_runs/{TWO_LEGS}/legs/001/lease.json").unlink()

    assert found(results) == [f"_runs/{TWO_LEGS}/legs/001/lease.json is missing, but the leg has a receipt"]


def test_a_process_that_died_after_a_receipt_is_a_note(results: Results, root: Path) -> None:
    """Neither entry nor row in `runs` came. With a row, the entry was there."""
    plan = planned(results, "20261103T120000Z_000aa", "q")
    end_leg(results, plan, "q", [0])
    name, row = receipt_name(plan.run_id, 1), root / runs_name(plan.run_id, plan.run_date, 1)
    max(root.glob("_ledger/*/*.json")).unlink()
    assert found(results) == [f"{name} has no entry in the ledger, though its row in runs comes after it"]

    row.unlink()
    done = audit_store(results)
    assert (done.wrong, [note.where for note in done.notes]) == ([], [str(row.relative_to(root))])


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", json_bytes({"kind": "leg", "name": "../x", "previous": ""})])
def test_what_is_no_entry_is_one_finding(results: Results, root: Path, content: bytes) -> None:
    """And no object outside the store is read."""
    path = root / "_ledger/000000/000000003.json"
    path.write_bytes(content)

    assert [finding.where for finding in audit_store(results).wrong] == [str(path.relative_to(root))]


def test_a_receipt_that_two_entries_name_is_found(results: Results, root: Path) -> None:
    """Each has one."""
    newest = max(root.glob("_ledger/*/*.json"))
    again = json.loads(newest.read_text()) | {"number": 6, "previous": sha256_hex(newest.read_bytes())}
    newest.with_stem("000000006").write_bytes(json_bytes(again))

    assert [finding.where for finding in audit_store(results).wrong] == ["_ledger/000000/000000006.json"]


@pytest.mark.parametrize("name", ["001-intent.json", "001-receipt.json"])
def test_a_damaged_pruning_is_found(results: Results, root: Path, name: str) -> None:
    """And no traceback."""
    (root / f"_pruned/{PRUNED}-{name}").write_bytes(b"[")

    assert PRUNED in {finding.where for finding in audit_store(results).wrong}


def test_a_pruning_that_was_killed_is_a_note(results: Results, root: Path) -> None:
    """It has its entry before anything is deleted."""
    (root / f"_pruned/{PRUNED}-001-receipt.json").unlink()

    done = audit_store(results)
    assert (done.wrong, len(done.notes)) == ([], 1)


@pytest.mark.parametrize("text", ["", "abc", "g" * 64, "a" * 63, "a" * 64 + "+", "a" * 64 + "+" + "a" * 64, "a" * 128])
def test_what_is_no_head_is_refused(text: str) -> None:
    """Before anything is read."""
    with pytest.raises(UsageError, match=r"^A head is one digest of 64 hex digits"):
        checked_head(text)


def test_a_leg_that_ends_while_the_audit_reads_is_not_blamed(results: Results) -> None:
    """Its receipt and row are there, and its entry came after the ledger was read."""
    plan = planned(results, "20261103T120000Z_000aa", "q")
    ends = iter([lambda: end_leg(results, plan, "q", [0])])

    done = audit_store(results, progress=lambda _: next(ends, lambda: None)())

    assert (done.wrong, done.rows) == ([], 14)
