"""A report is written for people and for the next run."""

import csv
import gc
import resource
import zipfile
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from openpyxl import load_workbook  # type: ignore[import-untyped]  # it has none

from proofsweep.domain.errors import UsageError
from proofsweep.reports import sheets
from proofsweep.reports.export import OWN_HEADER as OWN
from proofsweep.reports.sheets import CompletionReport

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


Written = tuple[dict[str, str], list[object]]  # tags, and own cells


def report_of(*rows: Written) -> CompletionReport:
    names = list(dict.fromkeys(name for tags, _ in rows for name in tags))
    cells = ([own[0], *map(tags.get, names), *own[1:]] for tags, own in rows)
    return CompletionReport(names, OWN, cells, len(rows), for_people=4, title="Süd & Söhne 2026")


def write(path: Path, *rows: Written) -> None:
    with path.open("wb") as file:
        (sheets.write_csv if path.suffix == ".csv" else sheets.write_xlsx)(file, report_of(*rows))


def row_of(audio: str = "/m/a.wav", item_id: str = "1", **tags: str) -> Written:
    own = {"file": "a.wav", "outcome": "rejected", "audio": audio, "id": item_id, "audio_bytes": 7}
    own |= {"finished_at": datetime(2026, 11, 20, 10, tzinfo=UTC), "what_to_do": "ask", "run_id": "r"}
    return tags, [own.get(name) for name in OWN]


def sheet_of(path: Path) -> ET.Element:
    with zipfile.ZipFile(path) as book:
        return ET.fromstring(book.read("xl/worksheets/sheet1.xml"))  # noqa: S314 - our own file


def cells_of(sheet: ET.Element, column: str) -> list[str]:
    cells = (cell for cell in sheet.iter(f"{MAIN}c") if cell.get("r", "").rstrip("0123456789") == column)
    return ["".join(cell.itertext()) for cell in cells]


def column_of(name: str, tags: int = 0) -> str:
    place = OWN.index(name)
    return chr(ord("A") + place + (tags if place else 0))


def test_the_rows_have_a_frozen_header_a_filter_real_dates_and_no_formula(tmp_path: Path) -> None:
    """Dates sort as dates; text that looks like a formula, a link or an escape stays text."""
    hostile = ["=1+1", "http://x.example", "_x0041_", "a\nb", "\udcff", "<b>&\u202e", "'=1", "\uffff"]

    write(tmp_path / "a.xlsx", *(row_of(f"/m/{text}", text, t=text) for text in hostile))

    sheet = sheet_of(tmp_path / "a.xlsx")
    pane = sheet.find(f".//{MAIN}pane")
    assert pane is not None
    assert (pane.get("ySplit"), pane.get("state")) == ("1", "frozen")
    assert sheet.find(f".//{MAIN}autoFilter") is not None
    assert sheet.findall(f".//{MAIN}f") == []
    shown = ["=1+1", "http://x.example", "_x005F_x0041_", "a\\nb", "\\udcff", "<b>&\\u202e", "'=1", "\\uffff"]
    assert cells_of(sheet, column_of("id", tags=1)) == ["id", *shown]
    assert cells_of(sheet, "B") == ["t", *shown]
    assert {cell.get("t") for cell in sheet.iter(f"{MAIN}c") if cell.get("r", "").startswith("B")} == {"inlineStr"}
    dates = cells_of(sheet, column_of("finished_at", tags=1))
    assert [date[:8] for date in dates[1:]] == ["46346.41"] * 8


def test_a_printed_list_is_one_page_wide_and_each_page_says_of_whom_it_is(tmp_path: Path) -> None:
    """The columns for people are printed, with the header on each page; rows are as high as what wraps in them."""
    write(
        tmp_path / "a.xlsx",
        row_of("a.wav", title="A title of thirty letters and more"),
        row_of("b.wav", title="夜明けの歌 夜明けの歌"),
        row_of("c.wav", t="x" * 9_999),
    )

    book = load_workbook(tmp_path / "a.xlsx")
    sheet = book["files"]
    setup = sheet.page_setup
    assert (setup.orientation, setup.fitToWidth, setup.fitToHeight) == ("landscape", 1, 0)
    assert sheet.sheet_properties.pageSetUpPr.fitToPage
    assert (sheet.print_title_rows, sheet.print_area) == ("$1:$1", "'files'!$A$1:$F$4")
    assert [cell.value for cell in sheet[1]][:6] == ["file", "title", "t", "outcome", "in_words", "what_to_do"]
    assert sheet.oddHeader.left.text == "Süd && Söhne 2026"
    assert (sheet["B2"].alignment.wrap_text, sheet.column_dimensions["B"].width) == (True, 20)
    heights = [sheet.row_dimensions[number].height for number in (1, 2, 3, 4)]
    assert heights == [None, 30, 30, 405]  # wide letters count twice; a spreadsheet takes no higher row


def test_a_disk_that_is_full_is_one_error(tmp_path: Path) -> None:
    """The zip archive of a workbook that breaks off is not written again, and prints nothing, when it is collected."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, hard))
    try:
        for rows in (1, 2_000):  # the file itself, and what is put together before
            with pytest.raises(OSError, match="File too large"):
                write(tmp_path / "a.xlsx", *[row_of()] * rows)
        gc.collect()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_more_rows_than_a_sheet_holds_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sheet that ends early would hide files."""
    monkeypatch.setattr(sheets, "_SHEET_ROWS", 3)

    write(tmp_path / "two.xlsx", row_of(), row_of())
    with pytest.raises(UsageError, match="at most 2 rows"):
        write(tmp_path / "three.xlsx", row_of(), row_of(), row_of())


def test_a_csv_file_is_utf_8_with_a_mark_and_its_cells_are_quoted_and_run_nothing(tmp_path: Path) -> None:
    """A spreadsheet shows the letters right. Wherever it cuts a line, no cell is a formula."""
    write(tmp_path / "a.csv", row_of(item_id="=1+1", **{"=tag": "ß"}), row_of(item_id="x;=1+1;y", t='a "b" |=3\n=2'))

    assert (tmp_path / "a.csv").read_bytes().startswith(b"\xef\xbb\xbffile,'=tag,t,outcome,")
    text = (tmp_path / "a.csv").read_bytes().decode("utf-8-sig")
    assert "\r\na.wav,ß,,rejected," in text
    assert ",/m/a.wav,,'=1+1," in text
    assert 'a.wav,,"a ""b"" |\'=3\n\'=2",rejected,' in text
    assert '/m/a.wav,,"x;\'=1+1;y",' in text
    for delimiter in ",;|\t":
        cells = [cell for line in csv.reader(StringIO(text, newline=""), delimiter=delimiter) for cell in line]
        assert not [cell for cell in cells if cell.startswith("=")]
