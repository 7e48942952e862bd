"""Receipts hold each other, their plans and prunings; a head holds all that its receipts lead to."""

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from proofsweep.audit.receipts import (
    Audit,
    ReceiptGraph,
    check_chain,
    check_claims,
    checked_head,
    read_graph,
    read_prunings,
    read_receipts,
)
from proofsweep.domain.errors import UsageError
from proofsweep.store.parts import Results
from proofsweep.store.prunings import prunings_of

from ...worlds.audited_store import NEWEST, NOW, PRUNED, TWO_LEGS

LEGS = f"_runs/{TWO_LEGS}/legs"


def found(results: Results) -> list[str]:
    """List what is wrong with the chain of the run with two legs."""
    audit = Audit()
    receipts = read_receipts(results.store, TWO_LEGS, audit)
    check_chain(results.store, TWO_LEGS, receipts, audit)
    return [f"{finding.where} {finding.what}" for finding in audit.wrong]


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


HELD = {f"_pruned/{PRUNED}/001-intent.json"}


def wrong(results: Results, now: datetime = NOW, **claims: object) -> list[str]:
    """Return what is wrong with the pruning of a run, once it claims something else."""
    audit = Audit()
    prunings = [replace(each, **claims) for each in prunings_of(results.store, PRUNED)]  # type: ignore[arg-type]  # of any member
    receipts = read_receipts(results.store, PRUNED, audit)
    check_claims(results, results.plan(PRUNED), receipts, prunings, HELD, now, audit)
    return [finding.what for finding in audit.wrong]


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


@pytest.mark.parametrize("name", ["001-intent.json", "001-receipt.json"])
def test_a_damaged_pruning_is_found(results: Results, root: Path, name: str) -> None:
    """And no traceback."""
    (root / f"_pruned/{PRUNED}" / name).write_bytes(b"[")
    audit = Audit()

    read_prunings(results.store, PRUNED, audit)

    assert [finding.where for finding in audit.wrong] == [f"_pruned/{PRUNED}"]


def graph_of(results: Results) -> ReceiptGraph:
    return read_graph(results.store, results.store.folders("_runs"), Audit())


def test_the_newest_receipt_holds_all(results: Results) -> None:
    """Also those of other runs."""
    graph = graph_of(results)

    assert graph.head == graph.digests[f"_runs/{NEWEST}/legs/001/receipt.json"]
    assert graph.held_by(graph.head) == (set(graph.digests), [])


def test_a_head_may_have_several_digests(results: Results) -> None:
    """Two runs that ended side by side hold each other's receipts only later."""
    graph = graph_of(results)
    one, two = (graph.digests[f"_runs/{run}/legs/001/receipt.json"] for run in (PRUNED, TWO_LEGS))

    held, unknown = graph.held_by(f"{two}+{one}")

    assert {name.split("/")[1] for name in held} == {PRUNED, TWO_LEGS}
    assert unknown == []


@pytest.mark.parametrize("text", ["", "abc", "g" * 64, "a" * 63, "a" * 64 + "+", "a" * 128])
def test_what_is_no_head_is_refused(text: str) -> None:
    """Before anything is read."""
    with pytest.raises(UsageError, match=r"^A head is one digest of 64 hex digits"):
        checked_head(text)
