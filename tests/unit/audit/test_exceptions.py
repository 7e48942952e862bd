"""Prunings are read as far as they can be; what is damaged is a finding."""

from pathlib import Path

import pytest

from proofsweep.audit.exceptions import read_prunings
from proofsweep.model.findings import Findings
from proofsweep.store.plans_and_parts import Results

from ...worlds.audited_store import NEWEST, PRUNED


def test_what_a_pruning_deleted_is_known(results: Results) -> None:
    """By name, for the run it belongs to."""
    findings = Findings()

    (pruning,) = read_prunings(results.store, PRUNED, findings)

    assert {each.name.partition("/")[0] for each in pruning.deleted} == {"verdicts", "exchanges", "_runs"}
    assert read_prunings(results.store, NEWEST, findings) == []
    assert (findings.wrong, findings.notes) == ([], [])


def test_an_interrupted_pruning_is_a_note(results: Results, root: Path) -> None:
    """Repeated, it comes to its end."""
    (root / f"_pruned/{PRUNED}/001-receipt.json").unlink()
    findings = Findings()

    read_prunings(results.store, PRUNED, findings)

    assert [note.where for note in findings.notes] == [f"_pruned/{PRUNED}/001-intent.json"]


@pytest.mark.parametrize("name", ["001-intent.json", "001-receipt.json"])
def test_a_damaged_pruning_is_found(results: Results, root: Path, name: str) -> None:
    """And no traceback."""
    (root / f"_pruned/{PRUNED}" / name).write_bytes(b"[")
    findings = Findings()

    read_prunings(results.store, PRUNED, findings)

    assert [finding.where for finding in findings.wrong] == [f"_pruned/{PRUNED}"]
