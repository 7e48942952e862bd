"""A cell that shows no value sends no file, and blames nobody but our list."""

import io
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook as OtherWorkbook
from xlsxwriter import Workbook

from proofsweep.domain.items import ManifestRow
from proofsweep.domain.reasons import AtFault, Reason, about
from proofsweep.files.folder_listing import Cause
from proofsweep.sources.catalog import Catalog, ListFacts
from proofsweep.sources.open_catalog import open_catalog

Cells = list[list[object]]
Write = Callable[[Path, Cells], None]


def by_xlsxwriter(path: Path, rows: Cells) -> None:
    with Workbook(path) as book:
        sheet = book.add_worksheet()
        for number, cells in enumerate(rows):
            sheet.write_row(number, 0, cells)


def by_openpyxl(path: Path, rows: Cells) -> None:
    book = OtherWorkbook()
    for cells in rows:
        book.active.append(cells)
    book.save(path)


def read(path: Path) -> tuple[list[ManifestRow], Catalog]:
    catalog = open_catalog(str(path))
    return list(catalog.rows()), catalog


def facts_of(path: Path) -> ListFacts:
    (facts,) = read(path)[1].lists
    return facts


@pytest.mark.parametrize("write", [by_xlsxwriter, by_openpyxl])
@pytest.mark.parametrize("column", [0, 1])
def test_a_formula_that_was_not_calculated_sends_nothing(tmp_path: Path, write: Write, column: int) -> None:
    """Programs that write it leave its value out, or write 0: neither is a location."""
    cells: list[object] = ["a.wav", "a.sidecar"]
    cells[column] = '=B9&".wav"'
    write(tmp_path / "l.xlsx", [["audio", "sidecar", "title"], [*cells, "One"]])

    ((row,), _) = read(tmp_path / "l.xlsx")

    assert row.refused is not None
    assert row.refused.reason == Reason.CELL_ERROR
    assert row.refused.detail.startswith("l.xlsx, row 2: the cell in the column ")
    assert "was not calculated" in row.refused.detail
    assert (about(row.refused.reason).at_fault, about(row.refused.reason).tells_supplier) == (AtFault.SOURCE, False)


@pytest.mark.parametrize("write", [by_xlsxwriter, by_openpyxl])
def test_a_tag_without_a_value_is_empty_and_counted(tmp_path: Path, write: Write) -> None:
    write(tmp_path / "l.xlsx", [["audio", "supplier", "plays"], ["a.wav", '=B9&""', "=1+1"], ["b.wav", "Alba", 0]])

    rows, catalog = read(tmp_path / "l.xlsx")

    assert [dict(row.tags) for row in rows] == [{}, {"supplier": "Alba", "plays": "0"}]
    assert catalog.ignored[Cause.ERROR_CELLS] == 2


def test_a_zero_that_a_program_worked_out_is_one_in_a_tag(tmp_path: Path) -> None:
    """As a spreadsheet program saves it: then nobody is asked to calculate, and the audio still is no file named 0."""
    with Workbook(tmp_path / "l.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["audio", "plays"])
        sheet.write(1, 0, "=C9")
        sheet.write(1, 1, "=C9")
        book.calc_on_load = False

    ((row,), _) = read(tmp_path / "l.xlsx")

    assert dict(row.tags) == {"plays": "0"}
    assert row.refused is not None
    assert "or that points to an empty cell" in row.refused.detail


@pytest.mark.parametrize("error", ["#N/A", "#REF!", "#DIV/0!", "#SPILL!", "#NV", "Err:508"])
@pytest.mark.parametrize("name", ["l.csv", "l.xlsx", "l.jsonl"])
def test_an_error_is_no_value_in_any_format(tmp_path: Path, name: str, error: str) -> None:
    """Excel writes it into CSV as text, in its own language."""
    path = tmp_path / name
    if name == "l.xlsx":
        by_openpyxl(path, [["audio", "supplier", "sidecar"], ["a.wav", error, None], ["b.wav", "Alba", error]])
    elif name == "l.csv":
        path.write_text(f"audio,supplier,sidecar\na.wav,{error},\nb.wav,Alba,{error}\n")
    else:
        head = f'{{"audio": "a.wav", "supplier": "{error}", "sidecar": null}}'
        path.write_text(f'{head}\n{{"audio": "b.wav", "supplier": "Alba", "sidecar": "{error}"}}\n')

    (first, second), catalog = read(path)

    assert (first.refused, dict(first.tags), catalog.ignored[Cause.ERROR_CELLS]) == (None, {}, 1)
    assert second.refused is not None
    assert second.refused.reason == Reason.CELL_ERROR
    assert f"shows the error {error}" in second.refused.detail


def test_a_merged_value_counts_in_each_of_its_rows(tmp_path: Path) -> None:
    """As a person sees it; a row that has nothing else is none."""
    with Workbook(tmp_path / "l.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["supplier", "release", "audio"])
        sheet.merge_range(1, 0, 5, 0, "Alba")
        sheet.merge_range(1, 1, 2, 1, "First")
        for number in range(1, 4):
            sheet.write(number, 2, f"{number}.wav")
        sheet.write_row(6, 0, ["", "", "4.wav"])

    rows, _ = read(tmp_path / "l.xlsx")

    both, one = {"supplier": "Alba", "release": "First"}, {"supplier": "Alba"}
    assert [dict(row.tags) for row in rows] == [both, both, one, {}]


def test_what_a_person_does_not_see_in_a_workbook_is_told(tmp_path: Path) -> None:
    """Hidden rows are rows, whoever has hidden them; empty sheets are nothing that is not read."""
    with Workbook(tmp_path / "l.xlsx") as book:
        sheet = book.add_worksheet("List")
        book.add_worksheet("Old").write(0, 0, "audio")
        book.add_worksheet("Empty")
        for number, cells in enumerate((["audio", "old path"], ["a.wav", "x"], ["b.wav", "y"], ["c.wav", "z"])):
            sheet.write_row(number, 0, cells)
        sheet.set_row(1, None, None, {"hidden": True})
        sheet.set_row(2, 0)
        sheet.set_column(1, 1, None, None, {"hidden": True})

    facts = facts_of(tmp_path / "l.xlsx")

    assert (facts.hidden_rows, facts.hidden_columns, facts.other_sheets) == (2, ["old path"], ["Old"])


def test_the_header_is_the_row_that_names_most_columns(tmp_path: Path) -> None:
    """A row of groups above it names fewer."""
    path = tmp_path / "l.csv"
    path.write_text("Delivery;;\nAudio;;Names\npath;sidecar;title\na.wav;;One\n")

    ((row,), catalog) = read(path)

    assert (row.named_audio, dict(row.tags)) == ("a.wav", {"title": "One"})
    assert facts_of(path).header == "line 3"
    assert not catalog.ignored
    path.write_text("audio,type\na.wav,audio\nb.wav,path\n")
    assert not read(path)[1].lists


def test_a_value_has_one_text_in_parquet_and_in_a_workbook(tmp_path: Path) -> None:
    """Dates, durations and short numbers; bytes that are no text are left out and counted, as is pandas' index."""
    day, moment = date(2026, 11, 23), datetime(2026, 11, 23, 6, 30)  # noqa: DTZ001 - lists have no zone
    columns = {
        "audio": pa.array([b"caf\xe9.wav"]),
        "day": pa.array([day]),
        "midnight": pa.array([datetime(2026, 11, 23)], pa.timestamp("ns")),  # noqa: DTZ001 - the same
        "moment": pa.array([moment]),
        "length": pa.array([timedelta(seconds=205)]),
        "gain": pa.array([0.1], pa.float32()),
        "text": pa.array([b"plain"]),
        "picture": pa.array([b"\xff\xd8\xff"]),
        "cover": pa.array([b"\xff"]).dictionary_encode(),
        "__index_level_0__": pa.array([0]),
    }
    pq.write_table(pa.table(columns), tmp_path / "l.parquet")
    with Workbook(tmp_path / "l.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["audio", "day", "moment", "length"])
        sheet.write(1, 0, "a.wav")
        sheet.write_datetime(1, 1, day, book.add_format({"num_format": "dd.mm.yyyy"}))
        sheet.write_datetime(1, 2, moment, book.add_format({"num_format": "dd.mm.yyyy hh:mm"}))
        sheet.write_datetime(1, 3, timedelta(seconds=205), book.add_format({"num_format": "[mm]:ss"}))
    line = '{"audio": "a.wav", "day": "2026-11-23T00:00:00.000", "moment": "2026-11-23T06:30:00"}'
    (tmp_path / "l.jsonl").write_text(line)

    ((row,), catalog) = read(tmp_path / "l.parquet")
    ((of_sheet,), _), ((of_json,), _) = read(tmp_path / "l.xlsx"), read(tmp_path / "l.jsonl")

    same = {"day": "2026-11-23", "moment": "2026-11-23T06:30:00"}
    length = {"length": "00:03:25"}
    other = {"midnight": "2026-11-23", "gain": "0.1", "text": "plain"}
    assert dict(row.tags) == same | length | other
    assert row.named_audio == "caf\udce9.wav"
    assert +catalog.ignored == {Cause.BINARY_CELLS: 2}
    assert (dict(of_sheet.tags), dict(of_json.tags)) == (same | length, same)


def test_an_interval_of_duckdb_is_no_bytes(tmp_path: Path) -> None:
    """Arrow has no type for it, and gives its twelve bytes."""
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "l.parquet"
    interval, number = "INTERVAL '1 month 2 days 90 seconds'", "UUID '00000000-0000-0000-0000-000000000001'"
    said = f"SELECT 'a.wav' AS audio, {interval} AS length, {number} AS n"
    duckdb.sql(f"COPY ({said}) TO '{path}'")

    ((row,), _) = read(path)

    assert dict(row.tags) == {"length": "1 month 48:01:30", "n": "00000000-0000-0000-0000-000000000001"}


def test_a_date_that_a_workbook_keeps_as_text_has_the_text_of_a_number(tmp_path: Path) -> None:
    book = OtherWorkbook(iso_dates=True)
    book.active.append(["audio", "day"])
    book.active.append(["a.wav", date(2026, 11, 23)])
    book.iso_dates = True
    file = io.BytesIO()
    book.save(file)
    (tmp_path / "l.xlsx").write_bytes(file.getvalue())

    ((row,), _) = read(tmp_path / "l.xlsx")

    assert dict(row.tags) == {"day": "2026-11-23"}
