"""Rows in are rows out; what each receipt counts is in its parts."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proofsweep.audit.check import RequestIds, check_runs_row, check_shard
from proofsweep.audit.findings import Findings
from proofsweep.audit.receipts import read_receipts
from proofsweep.store.parts import Results
from proofsweep.store.schemas import SCHEMAS

from ...worlds.audited_store import NEWEST


def found(results: Results, *rows: list[dict[str, Any]]) -> list[str]:
    """Return what is wrong with parts of these rows, as those of the newest run's only shard."""
    findings, plan = Findings(), results.plan(NEWEST)
    (name,) = results.parts_of("verdicts", plan)
    schema = results.table("verdicts", [name]).schema
    check_shard(results.store, plan, 0, [pa.Table.from_pylist(each, schema=schema) for each in rows], findings)
    return [finding.what for finding in findings.wrong]


@pytest.fixture
def rows(results: Results) -> list[dict[str, Any]]:
    """The rows of the newest run."""
    return list(results.table("verdicts", results.parts_of("verdicts", results.plan(NEWEST))).to_pylist())


def test_rows_of_several_legs_make_a_shard(results: Results, rows: list[dict[str, Any]]) -> None:
    """In any order; some may remain."""
    assert found(results, rows[3:], rows[:2][::-1]) == []


def test_a_doubled_a_foreign_and_an_exchanged_row_are_found(results: Results, rows: list[dict[str, Any]]) -> None:
    """In one part or in two."""
    foreign = rows[0] | {"manifest_row": 77}
    exchanged = rows[0] | {"item_id": "y"}

    assert found(results, rows, rows[:1]) == ["shard 0 has a row with two answers"]
    assert found(results, [rows[0], rows[0]]) == ["shard 0 has a row with two answers"]
    assert found(results, [foreign]) == ["shard 0 has an answer for a row that it does not hold"]
    assert found(results, [exchanged]) == ["row 0 was planned for another item than the one that has its answer"]


def test_planned_items_that_are_gone_are_found(results: Results, root: Path, rows: list[dict[str, Any]]) -> None:
    """Without them nobody knows what the run was asked."""
    (root / f"_runs/{NEWEST}/shards/00000.parquet").write_bytes(b"PAR1")

    assert found(results, rows) == ["is not the list of the 5 items that were planned"]


def test_a_row_of_runs_is_held_against_its_receipt(results: Results, root: Path) -> None:
    """It may be missing for the last leg alone, which a kill ended between both."""
    receipt = read_receipts(results.store, NEWEST, Findings())[1]
    (path,) = root.glob(f"runs/*/{NEWEST}-001.parquet")
    findings = Findings()

    check_runs_row(path.read_bytes(), receipt, "row", may_miss=True, findings=findings)
    check_runs_row(None, receipt, "row", may_miss=True, findings=findings)
    assert (findings.wrong, len(findings.notes)) == ([], 1)

    table = pq.ParquetFile(path).read()
    forged = pa.Table.from_pylist([table.to_pylist()[0] | {"accepted": 5}], schema=table.schema)
    pq.write_table(forged, path)
    check_runs_row(path.read_bytes(), receipt, "row", may_miss=True, findings=findings)
    check_runs_row(None, receipt, "row", may_miss=False, findings=findings)
    check_runs_row(json.dumps({}).encode(), receipt, "row", may_miss=True, findings=findings)
    assert [finding.what for finding in findings.wrong] == [
        "says otherwise than the receipt of its leg: accepted",
        "is missing or cannot be read as the row of one leg",
        "is missing or cannot be read as the row of one leg",
    ]


ROWS = [
    {"manifest_row": 0, "uploads_request_id": "u0", "verify_request_id": "v0"},
    {"manifest_row": 1, "answered_by_row": 0, "uploads_request_id": "u0", "verify_request_id": "v0"},
    {"manifest_row": 2},
]
EXCHANGES = [("uploads", 0, "u0"), ("verify", 0, "v0"), ("slot", 0, "s0"), ("usage", None, "x")]


def missing(exchanges: list[tuple[str, int | None, str]]) -> int:
    """Count what is not in these exchanges, which come in parts of one row."""
    found = RequestIds()
    found.add(pa.Table.from_pylist(ROWS, schema=SCHEMAS["verdicts"]))
    for call, row, request_id in exchanges:
        cells = {"call": call, "manifest_row": row, "request_id": request_id}
        found.find_in(pa.Table.from_pylist([cells], schema=SCHEMAS["exchanges"]))
    return found.missing()


@pytest.mark.parametrize(
    ("exchanges", "count"),
    [
        (EXCHANGES, 0),
        (EXCHANGES[1:], 1),
        ([], 2),
        ([("uploads", 0, "v0"), ("verify", 0, "u0")], 2),
        ([("uploads", 0, "u0"), ("verify", 2, "v0")], 1),
    ],
)
def test_each_named_request_id_is_looked_for(exchanges: list[tuple[str, int | None, str]], count: int) -> None:
    """A row that uses another's answer names that row's exchanges; null names nothing."""
    assert missing(exchanges) == count
