"""The receipts of a run hold each other, its plan and its claims; whatever cannot be read is a finding."""

import json
from pathlib import Path

import pytest

from proofsweep.audit.leg_receipts import check_chain, leg_numbers, read_receipts
from proofsweep.model.findings import Findings
from proofsweep.store.plans_and_parts import Results

from ...worlds.audited_store import TWO_LEGS

LEGS = f"_runs/{TWO_LEGS}/legs"


def found(results: Results) -> list[str]:
    """List what is wrong with the chain of the run with two legs."""
    findings = Findings()
    receipts = read_receipts(results.store, TWO_LEGS, findings)
    check_chain(results.store, TWO_LEGS, receipts, findings)
    return [f"{finding.where} {finding.what}" for finding in findings.wrong]


def test_a_run_of_two_legs_is_a_chain(results: Results) -> None:
    """The second receipt names the first."""
    first, second = read_receipts(results.store, TWO_LEGS, Findings()).values()

    assert found(results) == []
    assert (first.previous, second.previous) == (None, first.sha256)
    assert leg_numbers(results.store, TWO_LEGS) == [1, 2]


def test_a_folder_without_a_claim_is_no_leg(results: Results, root: Path) -> None:
    """A process may be killed between both."""
    (root / LEGS / "003").mkdir()

    assert found(results) == []


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"{}", b"\xff", b'{"run_id": "r", "leg": []}'])
def test_what_is_no_receipt_is_one_finding(results: Results, root: Path, content: bytes) -> None:
    """And no traceback."""
    (root / LEGS / "002/receipt.json").write_bytes(content)

    assert found(results) == [f"{LEGS}/002/receipt.json cannot be read as a receipt"]


@pytest.mark.parametrize(
    ("members", "what"),
    [
        ({"plan_sha256": "0"}, "names another digest of plan.json than that file has: one of them was changed"),
        ({"previous_receipt_sha256": "0"}, "names a receipt before it, but it is the first"),
        ({"leg": 2}, f"is the receipt of leg 2 of run {TWO_LEGS}"),
        ({"parts": []}, "counts 4 outcomes, but names parts with 0 rows"),
    ],
)
def test_a_contradiction_is_named(results: Results, root: Path, members: dict[str, object], what: str) -> None:
    """With the receipt that has it; its successor names another digest then, too."""
    path = root / LEGS / "001/receipt.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | members))

    assert found(results)[0] == f"{LEGS}/001/receipt.json {what}"


def test_a_gap_is_found(results: Results, root: Path) -> None:
    """A leg is always settled before the next one works."""
    (root / LEGS / "001/receipt.json").unlink()
    (root / LEGS / "001/claim.json").unlink()

    assert found(results) == [
        f"{LEGS}/001/claim.json is missing, but the leg left something behind",
        f"{LEGS}/001/receipt.json is missing, though a later leg has ended",
    ]
