"""A snapshot holds the newest answers of the parts, row by row."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from proofsweep.audit import audit_store as snapshot
from proofsweep.audit.audit_store import check_snapshot
from proofsweep.model.findings import Findings
from proofsweep.store.plans_and_parts import Results, parquet_of
from proofsweep.verify.leg.note_leg import complete_snapshot


def wrong(results: Results) -> list[str]:
    """Name what is wrong."""
    findings = Findings()
    check_snapshot(results, findings)
    return [finding.where for finding in findings.wrong]


@pytest.mark.parametrize("step", [1, 3, 5_000])
def test_a_snapshot_that_nobody_changed_passes(results: Results, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it was merged, and in whatever steps it is compared; so does a store without one."""
    monkeypatch.setattr(snapshot, "_STEP_ROWS", step)
    assert wrong(results) == []
    complete_snapshot(results)
    assert wrong(results) == []


def test_a_store_without_a_snapshot_passes(results: Results, root: Path) -> None:
    """It is derived, and may be deleted."""
    shutil.rmtree(root / "_snapshot")

    assert wrong(results) == []


def test_a_row_that_was_left_out_is_found(results: Results, root: Path) -> None:
    """The file itself is sound."""
    path = max(root.glob("_snapshot/*/*.parquet"))
    path.write_bytes(parquet_of(pq.ParquetFile(path).read().slice(1)))

    assert wrong(results) == ["_snapshot"]


def test_a_damaged_snapshot_is_found(results: Results, root: Path) -> None:
    """And no traceback."""
    max(root.glob("_snapshot/*/*.parquet")).write_bytes(b"PAR1")

    assert wrong(results) == ["_snapshot"]
