"""One part is held against its receipt; bytes that are no part of its table are a finding."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proofsweep.audit.check import PartAuditor, with_all_columns
from proofsweep.audit.findings import Checked, Findings
from proofsweep.audit.receipts import LegReceipt, read_receipts
from proofsweep.store.objects import sha256_hex
from proofsweep.store.parts import Part, Results, parquet_of
from proofsweep.store.prunings import PrunedObject
from proofsweep.store.schemas import SCHEMAS

from ...worlds.audited_store import NEWEST


@pytest.fixture
def receipt(results: Results) -> LegReceipt:
    """The receipt of the newest run."""
    return read_receipts(results.store, NEWEST, Findings())[1]


def checked(results: Results, part: Part, receipt: LegReceipt, *pruned: PrunedObject) -> tuple[list[str], int | None]:
    """Check a part; give what is wrong, and its number of rows if they can be used."""
    auditor = PartAuditor(
        store=results.store,
        pruned={each.name: each for each in pruned},
        findings=Findings(),
        checked=Checked(),
    )
    cells = {"run_id": receipt.run_id, "leg": receipt.leg}
    table = auditor.check(part, cells, "leg")
    return [finding.what for finding in auditor.findings.wrong], None if table is None else table.num_rows


def test_a_part_as_recorded_gives_its_rows(results: Results, receipt: LegReceipt) -> None:
    """Of either table."""
    assert [checked(results, part, receipt) for part in receipt.parts] == [([], 5), ([], 15)]


def test_what_a_receipt_says_of_a_part_is_held_against_it(results: Results, receipt: LegReceipt) -> None:
    """Rows and digest."""
    part = receipt.parts[0]

    assert checked(results, replace(part, rows=4), receipt)[0] == ["has 5 rows; the receipt of its leg says 4"]
    assert checked(results, replace(part, sha256="0"), receipt) == (
        ["was changed: no receipt names the sha256 that it has"],
        None,
    )
    assert checked(results, replace(part, name="verdicts/x"), receipt) == (
        ["is missing; the receipt of its leg names it"],
        None,
    )


def test_a_pruned_part_may_be_missing_and_no_other(results: Results, receipt: LegReceipt) -> None:
    """The pruning names the same rows and digest."""
    part = receipt.parts[0]
    gone = PrunedObject(name=part.name, size_bytes=1, rows=part.rows, sha256=part.sha256)

    assert checked(results, part, receipt, gone) == ([], None)
    assert checked(results, part, receipt, replace(gone, rows=3))[0] == [
        "was pruned, but the pruning names another digest than the receipt"
    ]


@pytest.mark.parametrize("content", [b"", b"PAR1", parquet_of(pa.table({"run_id": [NEWEST]}))])
def test_bytes_that_are_no_part_are_found(results: Results, receipt: LegReceipt, root: Path, content: bytes) -> None:
    """Even if the receipt names their digest."""
    part = replace(receipt.parts[0], sha256=sha256_hex(content), rows=1)
    (root / part.name).write_bytes(content)

    assert checked(results, part, receipt) == (["cannot be read as a part of its table"], None)


def test_older_parts_get_the_columns_of_today(receipt: LegReceipt, root: Path) -> None:
    """But not those that no row is without."""
    table = pq.ParquetFile(root / receipt.parts[0].name).read()

    assert with_all_columns(table.drop_columns(["relative_path"]), "verdicts").column_names == SCHEMAS["verdicts"].names
    with pytest.raises(ValueError, match=r"^verdicts$"):
        with_all_columns(table.drop_columns(["item_id"]), "verdicts")
