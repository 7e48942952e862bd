"""A sheet is read as text, row by row, and no workbook needs much memory."""

import io
import tracemalloc
from collections.abc import Mapping
from datetime import UTC, date, datetime
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZipFile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xlsxwriter import Workbook

from proofsweep.catalog import workbook
from proofsweep.catalog.workbook import sheet_rows

_TYPE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PARTS = {
    "_rels/.rels": f'<R><Relationship Id="1" Type="{_TYPE}/officeDocument" Target="xl/workbook.xml"/></R>',
    "xl/_rels/workbook.xml.rels": (
        f'<R><Relationship Id="a" Type="{_TYPE}/worksheet" Target="/xl/worksheets/s.xml"/>'
        f'<Relationship Id="t" Type="{_TYPE}/sharedStrings" Target="sharedStrings.xml"/></R>'
    ),
    "xl/workbook.xml": f'<w xmlns="{_MAIN}" xmlns:r="{_TYPE}"><sheets><sheet name="S" r:id="a"/></sheets></w>',
    "xl/sharedStrings.xml": (
        f'<x:sst xmlns:x="{_MAIN}"><x:si><x:r><x:t>au</x:t></x:r><x:r><x:t>dio</x:t></x:r>'
        "<x:rPh><x:t>no</x:t></x:rPh></x:si>"
        "<x:si><x:t>a_x005F_b_x0041_.wav</x:t></x:si></x:sst>"
    ),
    "xl/worksheets/s.xml": (
        f'<worksheet xmlns="{_MAIN}"><sheetData><row><c t="s"><v>0</v></c><c t="inlineStr"><is><t>id</t></is></c></row>'
        '<row r="5"><c r="A5" t="s"><v>1</v></c><c r="B5"><v>7</v></c></row></sheetData></worksheet>'
    ),
}


def packed(parts: Mapping[str, str | bytes] = PARTS, kind: int = ZIP_DEFLATED) -> io.BytesIO:
    """Pack parts as a workbook."""
    file = io.BytesIO()
    with ZipFile(file, "w", kind) as book:
        for name, content in parts.items():
            book.writestr(name, content)
    file.seek(0)
    return file


def refusal(parts: Mapping[str, str | bytes], kind: int = ZIP_DEFLATED) -> str:
    """Return why a workbook is refused."""
    with pytest.raises(ValueError, match=r"\w") as refused:
        list(sheet_rows(packed(PARTS | dict(parts), kind)))
    return str(refused.value)


def written(file: io.BytesIO) -> None:
    """Write a workbook as people have it."""
    book = Workbook(file)
    hidden, first, second = (book.add_worksheet(name) for name in ("Notes", "Liste", "Zwei"))
    first.activate()
    first.set_first_sheet()
    hidden.hide()
    first.write_row(1, 0, ["audio", "", "upc", "day", "at", "ok", "sum"])
    first.write_string(3, 0, "Größe = 1.wav")
    first.write_number(3, 2, 4006381333931)
    first.write_datetime(3, 3, date(2026, 11, 23), book.add_format({"num_format": "dd.mm.yyyy"}))
    first.write_datetime(
        3, 4, datetime(2026, 11, 23, 6, 30, tzinfo=UTC).replace(tzinfo=None), book.add_format({"num_format": 22})
    )
    first.write_boolean(3, 5, boolean=True)
    first.write_formula(3, 6, "=1+1", None, 2)
    second.write_row(0, 0, ["audio"])
    second.write_row(1, 0, ["z.wav"])
    book.close()
    file.seek(0)


def test_a_sheet_of_excel_is_read_as_it_is_shown() -> None:
    """Of the first sheet that can be seen; empty rows are left out, and the others have the numbers of the sheet."""
    file = io.BytesIO()
    written(file)

    rows = list(sheet_rows(file))

    assert rows == [
        (2, ["audio", "", "upc", "day", "at", "ok", "sum"]),
        (4, ["Größe = 1.wav", "", "4006381333931", "2026-11-23", "2026-11-23T06:30:00", "true", "2"]),
    ]


def test_a_sheet_may_be_named() -> None:
    """In any case, also one that is hidden; a name that is not there is answered with those that are."""
    file = io.BytesIO()
    written(file)

    assert list(sheet_rows(file, "zwei")) == [(1, ["audio"]), (2, ["z.wav"])]
    assert list(sheet_rows(file, "Notes")) == []
    with pytest.raises(ValueError, match="no sheet 'Drei'; there are: Notes, Liste, Zwei"):
        list(sheet_rows(file, "Drei"))


def test_other_writers_leave_out_what_they_may() -> None:
    """Prefixes, pieces of text, cells and rows without their places, text in the cell, an absolute target."""
    assert list(sheet_rows(packed())) == [(1, ["audio", "id"]), (5, ["a_bA.wav", "7"])]


def sheet(content: str) -> dict[str, str]:
    """Make the part of a sheet."""
    return {"xl/worksheets/s.xml": f"<worksheet><sheetData>{content}</sheetData></worksheet>"}


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (sheet('<row r="1048577"><c/></row>'), "has a row 1,048,577"),
        (sheet('<row><c r="XFE1"/></row>'), "more than 16,384 cells"),
        (sheet("<row>" + "<c/>" * 16_385 + "</row>"), "more than 16,384 cells"),
        (sheet("<row><c><v>" + "1" * 32_768 + "</v></c></row>"), "a cell of more than 32,767 letters"),
        (sheet('<row><c t="s"><v>9</v></c></row>'), "names a text that is not there"),
        (sheet('<row><c t="s"><v>-1</v></c></row>'), "names a text that is not there"),
        (sheet("<row><c"), "no XML"),
        (sheet("<a>" * 100), "nest too deep"),
        (sheet(f'<row a="{"x" * 2_000_000}"/>'), "a tag of more than a mebibyte"),
        ({"xl/worksheets/s.xml": '<!DOCTYPE x [<!ENTITY a "aaaa">]><worksheet>&a;</worksheet>'}, "a document type"),
        ({"xl/workbook.xml": "<workbook/>"}, "no sheet with cells"),
        ({"xl/workbook.xml": '<workbook><sheet name="S" id="gone"/></workbook>'}, "no Excel workbook that can be read"),
        ({"xl/_rels/workbook.xml.rels": "<R/>"}, "no Excel workbook that can be read"),
        ({"xl/sharedStrings.xml": "<sst><si><t>" + "x" * 200_000 + "</t></si></sst>"}, "more than 32,767 letters"),
    ],
)
def test_what_no_spreadsheet_writes_is_refused_in_one_line(parts: dict[str, str], words: str) -> None:
    """The file may be made to fill memory or to run for hours."""
    assert words in refusal(parts)


def test_a_part_that_is_too_large_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size stands in the archive, and no more is unpacked than stands there."""
    monkeypatch.setattr(workbook, "_MOST_SHEET_BYTES", 1000)

    assert "xl/worksheets/s.xml has 2,046 bytes" in refusal(sheet(" " * 2000))
    assert "at most 16,777,216 are read" in refusal({"xl/workbook.xml": " " * 17_000_000})


def test_a_password_and_other_packings_are_refused() -> None:
    """Unpacking some of them takes memory that the file chooses."""
    file = bytearray(packed().getvalue())
    while (at := file.find(b"PK\x01\x02")) >= 0:
        file[at : at + 4], file[at + 8] = b"pk\x01\x02", 1
    locked = bytes(file).replace(b"pk\x01\x02", b"PK\x01\x02")

    assert "not packed as workbooks are" in refusal({}, ZIP_LZMA)
    with pytest.raises(ValueError, match="it has a password"):
        list(sheet_rows(io.BytesIO(locked)))


def test_cells_end_in_one_line_and_in_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sheet of a billion cells is a few megabytes when packed."""
    monkeypatch.setattr(workbook, "_MOST_CELLS", 200_000)
    row = "<row>" + "<c/>" * 10_000 + "</row>"
    file = packed(PARTS | sheet(row * 1_000))
    tracemalloc.start()

    with pytest.raises(ValueError, match="more than 200,000 cells: export it as CSV"):
        list(sheet_rows(file))

    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 4_000_000


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), min_size=1, max_size=20))
def test_a_damaged_workbook_is_a_value_error(changes: list[tuple[int, int]]) -> None:
    """Whichever bytes are wrong."""
    content = bytearray(packed().getvalue())
    for at, byte in changes:
        content[at % len(content)] = byte

    try:
        list(sheet_rows(io.BytesIO(bytes(content))))
    except ValueError as error:
        assert str(error)  # noqa: PT017 - what is no error is fine, too
