"""A report is written for people and for the next run."""

import csv
import gc
import resource
import zipfile
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from proofsweep.answers import report_formats
from proofsweep.answers.report_formats import ReportRow, write_csv, write_xlsx
from proofsweep.errors import UsageError
from proofsweep.model.completion_report import COLUMNS

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def row_of(audio: str = "/m/a.wav", item_id: str = "1", **tags: str) -> ReportRow:
    """Make a row that was rejected."""
    own = {"outcome": "rejected", "audio_bytes": 7, "finished_at": "2026-11-20T10:00:00+00:00", "proofsweep_run": "r"}
    return ReportRow([audio, None, item_id], tags, [own.get(name) for name in COLUMNS])


def sheet_of(path: Path) -> ET.Element:
    """Read the sheet of a workbook."""
    with zipfile.ZipFile(path) as book:
        return ET.fromstring(book.read("xl/worksheets/sheet1.xml"))  # noqa: S314 - our own file


def test_a_csv_file_is_utf_8_with_a_mark_and_defused_cells(tmp_path: Path) -> None:
    """A spreadsheet shows the letters right, and runs nothing."""
    write_csv(tmp_path / "a.csv", ["=tag"], COLUMNS, iter([row_of(item_id="=1+1", **{"=tag": "ß"})]))

    content = (tmp_path / "a.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbfaudio,sidecar,id,'=tag,outcome,")
    assert b"\r\n/m/a.wav,,'=1+1,\xc3\x9f,rejected," in content


def test_a_cell_with_a_separator_of_some_spreadsheet_is_quoted(tmp_path: Path) -> None:
    """Wherever it is cut, no cell is a formula; and a reader of CSV gets the cells back."""
    write_csv(tmp_path / "a.csv", ["t"], COLUMNS, iter([row_of(item_id="x;=1+1;y", t='a "b" | c\n=2')]))

    text = (tmp_path / "a.csv").read_text("utf-8-sig")
    assert '/m/a.wav,,"x;\'=1+1;y","a ""b"" | c\n\'=2",rejected,' in text
    for delimiter in ",;\t":
        cells = [cell for line in csv.reader(StringIO(text, newline=""), delimiter=delimiter) for cell in line]
        assert not [cell for cell in cells if cell.startswith("=")]


def test_a_workbook_has_a_frozen_header_real_dates_and_no_formula(tmp_path: Path) -> None:
    """Dates sort as dates; text that looks like a formula, a link or an escape stays text."""
    hostile = ["=1+1", "http://x.example", "_x0041_", "a\nb", "\udcff", "<b>&\u202e"]

    write_xlsx(tmp_path / "a.xlsx", ["t"], COLUMNS, iter(row_of(f"/m/{text}", text, t=text) for text in hostile))

    sheet = sheet_of(tmp_path / "a.xlsx")
    pane = sheet.find(f".//{MAIN}pane")
    assert pane is not None
    assert (pane.get("ySplit"), pane.get("state")) == ("1", "frozen")
    assert sheet.findall(f".//{MAIN}f") == []
    ids = [cell for cell in sheet.iter(f"{MAIN}c") if cell.get("r", "").startswith("C")]
    assert [cell.get("t") for cell in ids] == ["inlineStr"] * 7
    shown = ["".join(cell.itertext()) for cell in ids[1:]]
    assert shown == ["=1+1", "http://x.example", "_x005F_x0041_", "a\\nb", "\\udcff", "<b>&\\u202e"]
    dates = [cell for cell in sheet.iter(f"{MAIN}c") if "".join(cell.itertext()).startswith("46346.41")]
    assert [cell.get("t") for cell in dates] == [None] * 6


def test_a_disk_that_is_full_is_one_error(tmp_path: Path) -> None:
    """The zip archive of a workbook that breaks off is not written again, and prints nothing, when it is collected."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_xlsx(tmp_path / "a.xlsx", [], COLUMNS, iter([row_of()]))
        gc.collect()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_more_rows_than_a_sheet_holds_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sheet that ends early would hide files."""
    monkeypatch.setattr(report_formats, "_SHEET_ROWS", 3)

    write_xlsx(tmp_path / "two.xlsx", [], COLUMNS, iter([row_of(), row_of()]))
    with pytest.raises(UsageError, match="at most 2 rows"):
        write_xlsx(tmp_path / "three.xlsx", [], COLUMNS, iter([row_of()] * 3))
