"""Receipts hold each other, and a head holds all that its receipts lead to."""

from pathlib import Path

import pytest

from proofsweep.audit.findings import Findings
from proofsweep.audit.receipts import ReceiptGraph, checked_head, read_graph
from proofsweep.domain.errors import UsageError
from proofsweep.store.parts import Results

from ...worlds.audited_store import NEWEST, PRUNED, TWO_LEGS


def graph_of(results: Results) -> ReceiptGraph:
    """Read all receipts."""
    return read_graph(results.store, results.store.folders("_runs"), Findings())


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


def test_a_receipt_that_another_names_differently_is_found(results: Results, root: Path) -> None:
    """Whoever rewrote it."""
    (root / f"_runs/{TWO_LEGS}/legs/002/receipt.json").write_text("{}")
    findings = Findings()

    read_graph(results.store, results.store.folders("_runs"), findings)

    assert {finding.where for finding in findings.wrong} == {f"_runs/{TWO_LEGS}/legs/002/receipt.json"}


@pytest.mark.parametrize("text", ["", "abc", "g" * 64, "a" * 63, "a" * 64 + "+", "a" * 128])
def test_what_is_no_head_is_refused(text: str) -> None:
    """Before anything is read."""
    with pytest.raises(UsageError, match=r"^A head is one digest of 64 hex digits"):
        checked_head(text)


def test_a_head_is_read_as_a_message_shows_it() -> None:
    """With a line break, or in capitals."""
    assert checked_head(" " + "A" * 64 + "+\n" + "b" * 64) == "a" * 64 + "+" + "b" * 64
