"""A workbook is for people: totals first, then the rows with a header that stays, and nothing in it runs."""

import gc
import resource
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from proofsweep.domain.errors import UsageError
from proofsweep.reports import sheets
from proofsweep.reports.sheets import ReportRow, write_xlsx

from .test_report_formats import OWN, report_of, row_of

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def sheet_of(path: Path, number: int = 2) -> ET.Element:
    """Read a sheet of a workbook."""
    with zipfile.ZipFile(path) as book:
        return ET.fromstring(book.read(f"xl/worksheets/sheet{number}.xml"))  # noqa: S314 - our own file


def cells_of(sheet: ET.Element, column: str) -> list[str]:
    """Read the cells of a column, top down."""
    cells = (cell for cell in sheet.iter(f"{MAIN}c") if cell.get("r", "").rstrip("0123456789") == column)
    return ["".join(cell.itertext()) for cell in cells]


def column_of(name: str, tags: int = 0) -> str:
    """Name the column of the report's own cell as a spreadsheet does."""
    place = OWN.index(name)
    return chr(ord("A") + place + (tags if place else 0))


def test_the_rows_have_a_frozen_header_a_filter_real_dates_and_no_formula(tmp_path: Path) -> None:
    """Dates sort as dates; text that looks like a formula, a link or an escape stays text."""
    hostile = ["=1+1", "http://x.example", "_x0041_", "a\nb", "\udcff", "<b>&\u202e", "'=1"]

    write_xlsx(tmp_path / "a.xlsx", report_of(*(row_of(f"/m/{text}", text, t=text) for text in hostile)))

    sheet = sheet_of(tmp_path / "a.xlsx")
    pane = sheet.find(f".//{MAIN}pane")
    assert pane is not None
    assert (pane.get("ySplit"), pane.get("state")) == ("1", "frozen")
    assert sheet.find(f".//{MAIN}autoFilter") is not None
    assert sheet.findall(f".//{MAIN}f") == []
    shown = ["=1+1", "http://x.example", "_x005F_x0041_", "a\\nb", "\\udcff", "<b>&\\u202e", "''=1"]
    assert cells_of(sheet, column_of("id", tags=1)) == ["id", *shown]
    assert cells_of(sheet, "B") == ["t", *shown]
    assert {cell.get("t") for cell in sheet.iter(f"{MAIN}c") if cell.get("r", "").startswith("B")} == {"inlineStr"}
    dates = cells_of(sheet, column_of("finished_at", tags=1))
    assert [date[:8] for date in dates[1:]] == ["46346.41"] * 7


def test_columns_are_as_wide_as_their_content_within_bounds(tmp_path: Path) -> None:
    """A long path does not push the rest off the screen."""
    write_xlsx(tmp_path / "a.xlsx", report_of(row_of(supplier="x" * 30, path="y" * 300, n="1")))

    widths = [float(column.get("width", "0")) for column in sheet_of(tmp_path / "a.xlsx").iter(f"{MAIN}col")]

    assert [round(width) for width in widths[1:4]] == [32, 62, 10]


def test_the_first_sheet_has_the_totals(tmp_path: Path) -> None:
    """By outcome, by what to do, and by supplier; the one with most to mend comes first."""
    accepted = [
        ReportRow(row.tags, ["accepted" if cell == "rejected" else cell for cell in row.own])
        for row in (row_of(supplier="South"), row_of(supplier="North"))
    ]
    rejected = [row_of(supplier="North"), row_of(supplier="North"), row_of()]

    write_xlsx(tmp_path / "a.xlsx", report_of(*accepted, *rejected, supplier_tag="supplier"))

    sheet = sheet_of(tmp_path / "a.xlsx", 1)
    names, files, shares = (cells_of(sheet, column) for column in "ABC")
    assert names == [
        "outcome",
        "accepted",
        "rejected",
        "all",
        "what to do",
        "ask",
        "supplier",
        "North",
        "(none)",
        "South",
    ]
    assert files == ["files", "2", "3", "5", "files", "3", "files", "3", "1", "1"]
    assert [share[:5] for share in shares] == ["accep", "0.333", "0", "1"]


def test_a_disk_that_is_full_is_one_error(tmp_path: Path) -> None:
    """The zip archive of a workbook that breaks off is not written again, and prints nothing, when it is collected."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_xlsx(tmp_path / "a.xlsx", report_of(row_of()))
        gc.collect()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_more_rows_than_a_sheet_holds_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sheet that ends early would hide files."""
    monkeypatch.setattr(sheets, "_SHEET_ROWS", 3)

    write_xlsx(tmp_path / "two.xlsx", report_of(row_of(), row_of()))
    with pytest.raises(UsageError, match="at most 2 rows"):
        write_xlsx(tmp_path / "three.xlsx", report_of(row_of(), row_of(), row_of()))
