"""Plans, parts and receipts have their places, and are read back by name: a listing may lag behind."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa
import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row
from proofsweep.store import layout
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import SCHEMAS, Part, Results, parquet_of

from ...worlds.core import begin_leg, write_receipt
from ...worlds.ended_runs import plan_of_run
from .. import left_behind

PLAN = plan_of_run(
    "20261120T120000Z_ab12", 3, environment="sandbox", catalog="/c/Ж.csv", eligible=2, reasons={"empty": 1}
)


def row_of(manifest_row: int, **cells: object) -> Row:
    return dict.fromkeys(SCHEMAS["verdicts"].names) | left_behind.verdict(PLAN, 1, manifest_row, **cells)


def part_name(seq: int, leg: int) -> str:
    return layout.part_name("verdicts", PLAN.run_id, PLAN.run_date, seq, leg)


def test_a_part_without_rows_has_the_whole_schema(results: Results) -> None:
    """And so has a table without parts: no reader ever infers a type."""
    part = results.create_part(part_name(0, 1), "verdicts", [])

    assert part.rows == 0
    assert results.table("verdicts", [part.name]).schema.equals(SCHEMAS["verdicts"])
    assert results.table("verdicts", []).schema.equals(SCHEMAS["verdicts"])
    assert results.table("verdicts", [part.name], ["outcome", "leg"]).column_names == ["outcome", "leg"]


def test_a_null_where_none_may_be_is_refused(results: Results) -> None:
    """Better no part than one that breaks its promise."""
    with pytest.raises(pa.ArrowInvalid):
        results.create_part(part_name(0, 1), "verdicts", [row_of(0, outcome=None)])

    assert results.parts_of("verdicts", PLAN) == []


@pytest.mark.parametrize(
    ("name", "read"),
    [
        (part_name(0, 1), lambda results: results.table("verdicts", [part_name(0, 1)], ["outcome"])),
        (layout.items_name(PLAN.run_id, 0), lambda results: list(results.items(PLAN))),
    ],
)
def test_what_is_damaged_is_one_clear_line(results: Results, name: str, read: Callable[[Results], object]) -> None:
    """A disk may lose the end of a file; the line names it."""
    results.store.create(name, parquet_of(pa.Table.from_pylist([row_of(0)], schema=SCHEMAS["verdicts"]))[:-9])

    with pytest.raises(ResultsError, match=rf"^{name} in the results store .* is damaged: [^\n]*$"):
        read(results)


def test_copies_and_other_files_beside_parts_are_none(results: Results) -> None:
    """A file server or a person may leave them there; the audit names them."""
    part = results.create_part(part_name(0, 1), "verdicts", [row_of(0)])
    for name in (part.name.replace(".parquet", " - Copy.parquet"), f"{part.name}.tmp", "Thumbs.db"):
        results.store.create(f"{part.name.rpartition('/')[0]}/{name.rpartition('/')[2]}", b"")

    assert results.parts_of("verdicts", PLAN) == [part.name]


def test_the_files_of_a_leg_that_no_receipt_names_are_found_by_its_run(results: Results) -> None:
    """A pass writes its table `ingest` after the receipt of its leg."""
    results.write_plan(PLAN)
    begin_leg(results, PLAN, 1)
    write_receipt(results, PLAN, 1, {"parts": []})
    part = results.create_part(layout.ingest_name(PLAN.run_id, PLAN.run_date, 1), "ingest", [])

    assert results.parts_of("ingest", PLAN) == [part.name]


def test_the_parts_of_a_run_are_of_all_its_legs_and_of_no_other_run(results: Results) -> None:
    other = replace(PLAN, run_id=f"{PLAN.run_id}9")
    results.create_part(part_name(0, 1), "verdicts", [row_of(0), row_of(1)])
    results.create_part(part_name(0, 2), "verdicts", [row_of(5) | {"leg": 2}])
    results.create_part(part_name(1, 1), "verdicts", [row_of(2)])
    results.create_part(layout.part_name("verdicts", other.run_id, other.run_date, 0, 1), "verdicts", [row_of(7)])

    assert len(results.parts_of("verdicts", PLAN)) == 3
    assert len(list(results.all_parts("verdicts"))) == 4
    assert (results.rows_published(PLAN), results.rows_published(other)) == ([4], [1])


def end_leg(results: Results, leg: int, parts: list[Part] | None) -> None:
    """Begin a leg and end it with a receipt that names parts; None for a receipt that names none at all."""
    begin_leg(results, PLAN, leg)
    write_receipt(results, PLAN, leg, {} if parts is None else {"parts": [asdict(part) for part in parts]})


def test_a_part_that_is_missing_is_named_once_and_its_rows_remain(
    results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    """A copy that was made during a run may lack it; what is pruned is not missed."""
    results.write_plan(PLAN)
    parts = [results.create_part(part_name(seq, 1), "verdicts", [row_of(seq)]) for seq in range(2)]
    end_leg(results, 1, parts)
    results.store.delete(parts[0].name)
    capsys.readouterr()

    for _ in range(2):
        assert results.parts_of("verdicts", PLAN) == [parts[1].name]
        assert results.rows_published(PLAN) == [1]

    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{parts[0].name} is missing from the results store" in said


class LaggingStore(FolderStore):
    """A store whose listings show nothing yet."""

    def names(self, folder: str) -> list[str]:
        del folder
        return []

    def folders(self, folder: str) -> list[str]:
        del folder
        return []


def test_the_parts_of_a_leg_that_has_ended_are_those_of_its_receipt(results: Results) -> None:
    """Whatever a listing shows: one that lags behind must not have rows verified again, and no stray object counts."""
    results.write_plan(PLAN)
    named = results.create_part(part_name(0, 1), "verdicts", [row_of(0)])
    results.create_part(part_name(1, 1), "verdicts", [row_of(1_000)])
    live = results.create_part(part_name(0, 2), "verdicts", [row_of(1)])
    begin_leg(results, PLAN, 2)
    end_leg(results, 1, [named])
    end_leg(results, 3, None)

    assert results.ended_parts(PLAN) == {1: [named]}
    with_lag = Results(LaggingStore(Path(results.store.url)))

    assert results.parts_of("verdicts", PLAN) == [named.name, live.name]
    assert results.rows_published(PLAN) == [2]
    assert with_lag.parts_of("verdicts", PLAN) == [named.name]


def test_a_part_of_an_older_version_lacks_new_columns(results: Results) -> None:
    """They are null; files with and without them are read as one table."""
    old = pa.Table.from_pylist([row_of(0)], schema=SCHEMAS["verdicts"]).drop_columns(["sidecar_version"])
    results.store.create(part_name(0, 1), parquet_of(old))
    results.create_part(part_name(0, 2), "verdicts", [row_of(1, sidecar_version="v")])
    names = [part_name(0, 1), part_name(0, 2)]

    whole, some = results.table("verdicts", names), results.table("verdicts", names, ["sidecar_version"])

    assert whole.schema == SCHEMAS["verdicts"]
    assert some["sidecar_version"].to_pylist() == [None, "v"]


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b"\xff"]
    + [json.dumps(asdict(PLAN) | cells).encode() for cells in ({"created_at": "yesterday"}, {"items": "many"})],
)
def test_a_broken_plan_is_named_in_one_line(results: Results, content: bytes) -> None:
    """A write that broke off, or a hand, left it so; it is found when it is read."""
    results.store.create(layout.plan_name(PLAN.run_id), content)

    with pytest.raises(ResultsError, match=r"plan\.json in the results store .* is damaged") as caught:
        results.plan(PLAN.run_id)

    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "is_one"),
    [(PLAN.run_id, True), ("", False), ("a-b", False), ("../x", False), ("a" * 65, False), ("a\n", False)],
)
def test_a_run_id_cannot_lead_out_of_the_store(text: str, is_one: bool) -> None:
    """It comes from the command line and becomes part of a path."""
    assert layout.is_run_id(text) is is_one
