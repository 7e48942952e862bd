"""One run is checked whole: its plan, its parts, and what lies beside them."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from proofsweep.audit.check import Known, audit_run
from proofsweep.audit.findings import Checked, Findings
from proofsweep.store.parts import Results, parquet_of

from ...worlds.audited_store import NOW, TWO_LEGS


def audited(results: Results) -> tuple[list[str], list[str]]:
    """Check the run with two legs; give what is wrong, and the notes."""
    findings = Findings()
    audit_run(results, TWO_LEGS, Known(held=(), now=NOW), findings, Checked())
    return [finding.what for finding in findings.wrong], [note.what for note in findings.notes]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"null"])
def test_a_plan_that_cannot_be_read_is_found(results: Results, root: Path, content: bytes) -> None:
    """And no traceback."""
    (root / f"_runs/{TWO_LEGS}/plan.json").write_bytes(content)

    assert audited(results) == (["is missing or cannot be read"], [])


def test_a_plan_that_is_not_the_one_of_the_receipts_ends_the_check(results: Results, root: Path) -> None:
    """Its numbers could let the check run for ever."""
    path = root / f"_runs/{TWO_LEGS}/plan.json"
    path.write_text(path.read_text().replace('"shards": 2', '"shards": 2000000000'))

    wrong, notes = audited(results)

    assert set(wrong) == {"names another digest of plan.json than that file has: one of them was changed"}
    assert notes == ["its parts were not read, since its plan is not the one that its receipts name"]


def test_late_exchanges_of_a_killed_leg_are_a_note(results: Results, root: Path) -> None:
    """Its process came back after the receipt; repeated ones are no late ones."""
    (path,) = root.glob(f"exchanges/*/{TWO_LEGS}-00000-001.parquet")
    late = path.with_name(f"{TWO_LEGS}-00001-001.parquet")
    table = pq.ParquetFile(path).read()
    rows = [row | {"attempt": 9} for row in table.to_pylist()]
    late.write_bytes(parquet_of(type(table).from_pylist(rows, schema=table.schema)))

    assert audited(results) == (
        [],
        ["came after the receipt of its leg, which was taken over; no digest covers it"],
    )

    shutil.copyfile(path, late)
    assert audited(results)[0] == ["is named by no receipt, and holds exchanges of another part or leg"]
    late.write_bytes(b"PAR1")
    assert audited(results)[0] == ["cannot be read as a part of its table"]


def test_a_row_of_runs_without_a_receipt_is_found(results: Results, root: Path) -> None:
    """Whoever adds up the table would count it."""
    (path,) = root.glob(f"runs/*/{TWO_LEGS}-001.parquet")
    shutil.copyfile(path, path.with_name(f"{TWO_LEGS}-007.parquet"))

    assert audited(results)[0] == ["is the row of a leg that has no receipt"]
