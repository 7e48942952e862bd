"""A report is written for people and for the next run."""

import csv
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest

from proofsweep.reports import sheets
from proofsweep.reports.sheets import CompletionReport, GroupedRows, ReportRow, write_csv
from proofsweep.sources.completion_report import own_header

OWN = own_header()


def report_of(*rows: ReportRow, supplier_tag: str | None = None) -> CompletionReport:
    """Make a report of some rows."""
    return CompletionReport(list(dict.fromkeys(tag for row in rows for tag in row.tags)), OWN, iter(rows), supplier_tag)


def row_of(audio: str = "/m/a.wav", item_id: str = "1", **tags: str) -> ReportRow:
    """Make a row that was rejected."""
    own = {"file": "a.wav", "outcome": "rejected", "audio": audio, "id": item_id, "audio_bytes": 7}
    own |= {"finished_at": "2026-11-20T10:00:00+00:00", "what_to_do": "ask", "proofsweep_run": "r"}
    return ReportRow(tags, [own.get(name) for name in OWN])


def test_what_people_read_comes_first_and_what_programs_need_last() -> None:
    """The file and its tags, then how it ended, then locations and IDs."""
    header = report_of(row_of(supplier="x", isrc="y")).header

    assert header[:6] == ["file", "supplier", "isrc", "outcome", "in_words", "what_to_do"]
    assert header[-8:-5] == ["audio", "sidecar", "id"]
    assert header[-1] == "proofsweep_run"


def test_a_csv_file_is_utf_8_with_a_mark_and_defused_cells(tmp_path: Path) -> None:
    """A spreadsheet shows the letters right, and runs nothing."""
    write_csv(tmp_path / "a.csv", report_of(row_of(item_id="=1+1", **{"=tag": "ß"})))

    content = (tmp_path / "a.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbffile,'=tag,outcome,")
    assert b"\r\na.wav,\xc3\x9f,rejected," in content
    assert b",/m/a.wav,,'=1+1," in content


def test_a_cell_with_a_separator_of_some_spreadsheet_is_quoted(tmp_path: Path) -> None:
    """Wherever it is cut, no cell is a formula; and a reader of CSV gets the cells back."""
    write_csv(tmp_path / "a.csv", report_of(row_of(item_id="x;=1+1;y", t='a "b" | c\n=2')))

    text = (tmp_path / "a.csv").read_text("utf-8-sig")
    assert 'a.wav,"a ""b"" | c\n\'=2",rejected,' in text
    assert '/m/a.wav,,"x;\'=1+1;y",' in text
    for delimiter in ",;\t":
        cells = [cell for line in csv.reader(StringIO(text, newline=""), delimiter=delimiter) for cell in line]
        assert not [cell for cell in cells if cell.startswith("=")]


def plain_row(name: str, **tags: str) -> ReportRow:
    """Make a row with two own cells, a name and an instant."""
    return ReportRow(tags, [name, datetime(2026, 11, 20, tzinfo=UTC)])


def test_each_group_gives_its_rows_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when they went to disk in several portions; names that are not UTF-8 come back as they were."""
    monkeypatch.setattr(sheets, "_WAITING_ROWS", 2)
    groups = GroupedRows(tmp_path)
    for number in range(5):
        groups.add("a" if number % 2 else "../b", plain_row(f"{number}\udcff\n"))

    assert groups.counts == {"a": 2, "../b": 3}
    assert [row.own[0] for row in groups.rows("../b")] == ["0\udcff\n", "2\udcff\n", "4\udcff\n"]
    assert [row.own[1] for row in groups.rows("a")] == ["2026-11-20T00:00:00+00:00"] * 2


def test_the_tags_of_a_group_are_those_of_its_rows(tmp_path: Path) -> None:
    """A supplier's list has no columns of another supplier."""
    groups = GroupedRows(tmp_path)
    groups.add("a", plain_row("1", isrc="x"))
    groups.add("b", plain_row("2", upc="y"))
    groups.add("a", plain_row("3", title="z"))

    assert [*groups.tag_names["a"]] == ["isrc", "title"]
