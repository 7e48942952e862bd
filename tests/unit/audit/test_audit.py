"""An audit passes what was recorded, and names what was changed since: of a store, of one run, of operations."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proofsweep.audit.ledger import Audit
from proofsweep.audit.store import audit_store
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row
from proofsweep.store.ledger import Ledger
from proofsweep.store.objects import FolderStore, sha256_hex
from proofsweep.store.parts import Results, parquet_of

from ...worlds.audited_store import NEWEST, TWO_LEGS, end_leg, planned
from ..ended_operations import call_of, leave_operation, operation_named
from .conftest import forge_newest_entry

OPERATION = operation_named("20261120T010000Z_000aa")
CALLS = [call_of(OPERATION, "r-1"), call_of(OPERATION, "r-2")]
ROWS: dict[str, list[Row]] = {"proofs": [{"proof_id": "p", "state": "no_file"}]}
NAME = f"run_date=2026-11-20/{OPERATION.operation_id}"


def wrong(done: Audit) -> list[str]:
    return [f"{finding.where} {finding.what}" for finding in done.wrong]


def test_an_untouched_store_passes(results: Results) -> None:
    """Killed legs, resumed runs and pruned parts are what their receipts say."""
    done = audit_store(results)

    assert wrong(done) == []
    assert (done.runs, done.legs, done.rows) == (3, 4, 13)
    assert done.parts_pruned == 2
    assert done.head == Ledger(results.store).head()


def test_a_single_run_is_checked_without_the_others(results: Results, root: Path) -> None:
    """Only its parts are read; the head is that of the store all the same."""
    (other,) = root.glob(f"verdicts/*/{NEWEST}-*")
    other.unlink()

    done = audit_store(results, TWO_LEGS)

    assert (wrong(done), done.runs, done.rows) == ([], 1, 8)
    assert done.head == audit_store(results).head


@pytest.mark.parametrize("run_id", ["nobody", "../x"])
def test_a_run_that_is_not_there_is_said(results: Results, run_id: str) -> None:
    """So is a store without runs."""
    with pytest.raises(ResultsError, match=r"^There is no run"):
        audit_store(results, run_id)


def test_an_old_head_holds_what_was_there(results: Results) -> None:
    """A store grows; the entries that are newer than the head are counted."""
    head = audit_store(results).head
    plan = planned(results, "20261103T120000Z_000aa", "q")
    end_leg(results, plan, "q", [0])

    done = audit_store(results, head=head)

    assert wrong(done) == []
    assert [note.what for note in done.notes] == ["is older than 1 of 6 entries"]


@pytest.mark.parametrize("first", [1, 2])
def test_legs_of_two_partitions_may_end_in_any_order(results: Results, first: int) -> None:
    """A leg says what was left of the whole plan when it ended; more than its own partition lets is wrong."""
    runs = {"20261103T120000Z_000aa": {}, "20261104T120000Z_000aa": {"remaining": 3}}
    for run_id, facts in runs.items():
        plan = planned(results, run_id, "qrst", partitions=2)
        for leg in (first, 3 - first):
            end_leg(results, plan, "qrst", [2 * leg - 2, 2 * leg - 1], leg=leg, **facts)

    honest, false = (of_run(results, run_id)[0] for run_id in runs)

    assert honest == []
    assert len(false) == 2
    assert all("says remaining = 3; the parts and the plan make it 0 to 2" in each for each in false)


def of_run(results: Results, run_id: str = TWO_LEGS) -> tuple[list[str], list[str]]:
    """Check one run; give what is wrong, and the notes."""
    done = audit_store(results, run_id)
    return [finding.what for finding in done.wrong], [note.what for note in done.notes]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"null"])
def test_a_plan_that_cannot_be_read_is_found(results: Results, root: Path, content: bytes) -> None:
    """And no traceback."""
    (root / f"_runs/{TWO_LEGS}/plan.json").write_bytes(content)

    assert of_run(results) == (["is missing or cannot be read"], [])


def test_a_plan_that_is_not_the_one_of_the_receipts_ends_the_check(results: Results, root: Path) -> None:
    """Its numbers could let the check run for ever."""
    path = root / f"_runs/{TWO_LEGS}/plan.json"
    path.write_text(path.read_text().replace('"items": 8', '"items": 2000000000'))

    assert of_run(results) == (["was changed: the receipts of its legs name another digest of it"], [])


def test_a_part_that_came_after_the_closing_one_is_found(results: Results, root: Path) -> None:
    """Not even the process of the leg can write it: its next number is taken."""
    (path,) = root.glob(f"exchanges/*/{TWO_LEGS}-00000-001.parquet")
    shutil.copyfile(path, path.with_name(f"{TWO_LEGS}-00001-001.parquet"))

    assert of_run(results)[0] == ["is named by no receipt"]


def rewrite_part(root: Path, table: str, rows: Callable[[list[Row]], list[Row]], *, count: int | None = None) -> None:
    """Change the rows of the newest run's part; its receipt and entry follow, as whoever forges it would let them."""
    (path,) = root.glob(f"{table}/*/{NEWEST}-00000-001.parquet")
    read = pq.ParquetFile(path).read()
    changed = pa.Table.from_pylist(rows(read.to_pylist()), schema=read.schema)
    path.write_bytes(parquet_of(changed))
    receipt = root / f"_runs/{NEWEST}/legs/001/receipt.json"
    document = json.loads(receipt.read_text())
    (named,) = [each for each in document["parts"] if each["name"] == str(path.relative_to(root))]
    named |= {"sha256": sha256_hex(path.read_bytes()), "rows": changed.num_rows if count is None else count}
    receipt.write_text(json.dumps(document))
    forge_newest_entry(root)


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        (lambda rows: [*rows, rows[0]], "has a second answer for row 0"),
        (
            lambda rows: [rows[0] | {"manifest_row": 77}, *rows[1:]],
            "has an answer for row 77, which was not planned",
        ),
        (
            lambda rows: [rows[0] | {"item_id": "y"}, *rows[1:]],
            "has an answer for row 0, which was planned for another item",
        ),
        (lambda rows: [rows[0] | {"leg": 7}, *rows[1:]], "holds a row of another leg"),
        (
            lambda rows: [rows[0] | {"outcome": "failed"}, *rows[1:]],
            "says accepted = 4; the parts and the plan make it 3",
        ),
        (lambda rows: rows[1:], "says remaining = 0; the parts and the plan make it 1"),
    ],
)
def test_rows_that_contradict_the_plan_or_the_counts_are_found(
    results: Results, root: Path, rows: Callable[[list[Row]], list[Row]], what: str
) -> None:
    """Even if the receipt names the digest and the number of rows of the part that holds them."""
    rewrite_part(root, "verdicts", rows)

    assert what in of_run(results, NEWEST)[0]


def test_a_part_of_other_rows_than_its_receipt_says_is_found(results: Results, root: Path) -> None:
    """Its digest alone is no proof: the receipt may have been written for it."""
    rewrite_part(root, "verdicts", lambda rows: rows, count=4)

    assert "has 5 rows; its receipt says 4" in of_run(results, NEWEST)[0]


@pytest.mark.parametrize("content", [b"", b"PAR1", parquet_of(pa.table({"run_id": [NEWEST], "leg": [1]}))])
def test_bytes_that_are_no_part_are_found(results: Results, root: Path, content: bytes) -> None:
    """Even if the receipt names their digest."""
    rewrite_part(root, "verdicts", lambda rows: rows)
    (path,) = root.glob(f"verdicts/*/{NEWEST}-*")
    receipt = root / f"_runs/{NEWEST}/legs/001/receipt.json"
    receipt.write_text(receipt.read_text().replace(sha256_hex(path.read_bytes()), sha256_hex(content)))
    path.write_bytes(content)
    forge_newest_entry(root)

    assert "cannot be read as a part of its table" in of_run(results, NEWEST)[0]


def test_a_part_may_lack_a_column_that_can_be_null(results: Results, root: Path) -> None:
    """Such a file is of an earlier version."""
    (path,) = root.glob(f"verdicts/*/{NEWEST}-*")
    receipt, before = root / f"_runs/{NEWEST}/legs/001/receipt.json", sha256_hex(path.read_bytes())
    path.write_bytes(parquet_of(pq.ParquetFile(path).read().drop_columns(["relative_path"])))
    receipt.write_text(receipt.read_text().replace(before, sha256_hex(path.read_bytes())))
    forge_newest_entry(root)

    assert of_run(results, NEWEST) == ([], [])


def test_planned_items_that_are_gone_are_found(results: Results, root: Path) -> None:
    """Without them nobody knows what the run was asked."""
    (root / f"_runs/{NEWEST}/items/00000.parquet").write_bytes(b"PAR1")

    assert of_run(results, NEWEST)[0] == ["is not the list of the 5 items that were planned"]


def test_a_row_of_runs_is_held_against_its_receipt(results: Results, root: Path) -> None:
    """It may be missing for the last leg alone, which a kill ended between both."""
    (path,) = root.glob(f"runs/*/{NEWEST}-001.parquet")
    table = pq.ParquetFile(path).read()
    pq.write_table(pa.Table.from_pylist([table.to_pylist()[0] | {"accepted": 5}], schema=table.schema), path)
    assert of_run(results, NEWEST)[0] == ["says otherwise than the receipt of its leg: accepted"]

    path.write_bytes(b"{}")
    assert of_run(results, NEWEST)[0] == ["is missing or cannot be read as the row of one leg"]

    path.unlink()
    why = "is missing: the process was killed after its receipt; the next leg writes it"
    assert of_run(results, NEWEST) == ([], [why])

    (first,) = root.glob(f"runs/*/{TWO_LEGS}-001.parquet")
    first.unlink()
    assert of_run(results)[0] == ["is missing or cannot be read as the row of one leg"]


@pytest.fixture
def bare(tmp_path: Path) -> Results:
    return Results(FolderStore(tmp_path))


def changed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def with_rows_of_another(path: Path) -> None:
    """Put the rows of another operation in the place."""
    other = operation_named("20261120T020000Z_000bb")
    leave_operation(Results(FolderStore(path.parents[2])), other, [call_of(other, "r-3")])
    path.write_bytes((path.parent / f"{other.operation_id}-00000-001.parquet").read_bytes())


@pytest.mark.parametrize("tamper", [Path.unlink, changed, with_rows_of_another])
def test_a_part_that_was_changed_is_found(bare: Results, tmp_path: Path, tamper: Callable[[Path], None]) -> None:
    """Removed, changed or replaced."""
    leave_operation(bare, OPERATION, CALLS, ROWS)

    tamper(tmp_path / f"exchanges/{NAME}-00000-001.parquet")

    (found,) = audit_store(bare).wrong
    assert found.where == f"exchanges/{NAME}-00000-001.parquet"


def test_rows_that_were_added_are_found(bare: Results) -> None:
    """The receipt of the operation does not name them."""
    leave_operation(bare, OPERATION, CALLS, ROWS)

    bare.create_part(f"proofs/{NAME}-00002-001.parquet", "proofs", [])

    (found,) = audit_store(bare).wrong
    assert (found.where, found.what) == (
        f"proofs/{NAME}-00002-001.parquet",
        "is named by no receipt",
    )


def test_parts_without_an_operation_are_wrong(bare: Results) -> None:
    """An operation writes its plan before its first call."""
    bare.create_part(f"proofs/{NAME}-00000-001.parquet", "proofs", [])
    bare.create_part(f"exchanges/{NAME}-00001-001.parquet", "exchanges", [])
    leave_operation(bare, operation_named("20261120T020000Z_000bb"))

    done = audit_store(bare)

    assert [each.where for each in done.wrong] == [
        f"exchanges/{NAME}-00001-001.parquet",
        f"proofs/{NAME}-00000-001.parquet",
    ]


@pytest.mark.parametrize("content", [b"", b'{"parts": 1}', b'{"parts": [{}]}'])
def test_a_damaged_receipt_is_found(bare: Results, tmp_path: Path, content: bytes) -> None:
    """No traceback, whatever it holds."""
    leave_operation(bare, OPERATION)
    name = f"_runs/{OPERATION.operation_id}/legs/001/receipt.json"
    (tmp_path / name).write_bytes(content)

    assert [each.where for each in audit_store(bare).wrong] == [name]
