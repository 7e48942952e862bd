"""A sheet is read as text, row by row, and no workbook needs much memory."""

import io
import re
import tracemalloc
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xlsxwriter import Workbook

from proofsweep.sources import workbook
from proofsweep.sources.workbook import sheet_rows

_TYPE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_STRICT = "http://purl.oclc.org/ooxml/officeDocument/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
PARTS = {
    "[Content_Types].xml": (
        f'<Types xmlns="{_PACKAGE}/content-types"><Override PartName="/xl/workbook.xml" ContentType="{_KIND}"/></Types>'
    ),
    "xl/_rels/workbook.xml.rels": (
        f'<R xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="a" Type="{_TYPE}/worksheet" Target="/xl/worksheets/s.xml"/>'
        f'<Relationship Id="t" Type="{_TYPE}/sharedStrings" Target="sharedStrings.xml"/>'
        f'<Relationship Id="s" Type="{_TYPE}/styles" Target="styles.xml"/></R>'
    ),
    "xl/workbook.xml": (
        f'<w xmlns="{_MAIN}" xmlns:r="{_TYPE}"><sheets><sheet name="S" sheetId="1" r:id="a"/></sheets></w>'
    ),
    "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"/>',
    "xl/sharedStrings.xml": (
        f'<x:sst xmlns:x="{_MAIN}"><x:si><x:r><x:t>au</x:t></x:r><x:r><x:t>dio</x:t></x:r>'
        '<x:rPh sb="0" eb="1"><x:t>no</x:t></x:rPh></x:si>'
        "<x:si><x:t>a_x005F_b_x0041_.wav</x:t></x:si></x:sst>"
    ),
    "xl/worksheets/s.xml": (
        f'<worksheet xmlns="{_MAIN}"><sheetData><row><c t="s"><v>0</v></c><c t="inlineStr"><is><t>id</t></is></c></row>'
        '<row r="5"><c r="A5" t="s"><v>1</v></c><c r="B5"><v>7</v></c></row></sheetData></worksheet>'
    ),
}


def packed(parts: Mapping[str, str | bytes] = PARTS) -> io.BytesIO:
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as book:
        for name, content in parts.items():
            book.writestr(name, content)
    file.seek(0)
    return file


def refusal(parts: Mapping[str, str | bytes]) -> str:
    with pytest.raises(ValueError, match=r"\w") as refused:
        list(sheet_rows(packed(PARTS | dict(parts))))
    return str(refused.value)


def written(file: io.BytesIO) -> None:
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
    """Of the first sheet that is seen, or the named one; rows keep their numbers, also when empty ones are left out."""
    file = io.BytesIO()
    written(file)

    rows = list(sheet_rows(file))

    assert rows == [
        (2, ["audio", "", "upc", "day", "at", "ok", "sum"]),
        (4, ["Größe = 1.wav", "", "4006381333931", "2026-11-23", "2026-11-23T06:30:00", "true", "2"]),
    ]
    assert list(sheet_rows(file, "zwei")) == [(1, ["audio"]), (2, ["z.wav"])]
    assert list(sheet_rows(file, "Notes")) == []
    with pytest.raises(ValueError, match="no sheet 'Drei'; there are: Notes, Liste, Zwei"):
        list(sheet_rows(file, "Drei"))


def test_other_writers_leave_out_what_they_may() -> None:
    """Prefixes, pieces of text, cells and rows without their places, text in the cell, an absolute target."""
    assert list(sheet_rows(packed())) == [(1, ["audio", "id"]), (5, ["a_bA.wav", "7"])]


def sheet(content: str) -> dict[str, str]:
    return {"xl/worksheets/s.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{content}</sheetData></worksheet>'}


def shown(code: str | int, value: str, settings: str = "") -> str:
    """Return the text of a number that has a format, by its code or by the number of a built-in one."""
    number = code if isinstance(code, int) else 164
    formats = f'<numFmts><numFmt numFmtId="164" formatCode="{escape(str(code), {chr(34): "&quot;"})}"/></numFmts>'
    style = f'<cellXfs><xf numFmtId="{number}"/></cellXfs>'
    styles = {
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}">{formats}<fonts><font no="font"/></fonts>{style}</styleSheet>'
    }
    content = sheet(f"<row><c><v>{value}</v></c><c t='b'><v>1</v></c></row>")
    book = {"xl/workbook.xml": PARTS["xl/workbook.xml"].replace("<sheets>", f"{settings}<sheets>")}
    ((_, (text, _)),) = sheet_rows(packed(PARTS | styles | content | book))
    return text


@pytest.mark.parametrize(
    ("code", "value", "text"),
    [
        (0, "4006381333931", "4006381333931"),
        (0, "4.006381333931E12", "4006381333931"),
        (0, "0.10000000000000001", "0.1"),
        ("0000000000000", "12345", "0000000012345"),
        ("000.0", "12345", "12345"),
        (14, "46349", "2026-11-23"),
        (14, "1", "1900-01-01"),
        (22, "46349.27083", "2026-11-23T06:30:00"),
        (20, "0.75", "18:00:00"),
        ("[mm]:ss", "0.00237268518518519", "00:03:25"),
        ('[$-407]d". "mmmm yyyy;@', "46349", "2026-11-23"),
        ('0" days"', "3", "3"),
        ('#,##0.00 "EUR"', "3.5", "3.5"),
        (14, "4006381333931", "4006381333931"),
    ],
)
def test_a_number_is_written_as_it_is_shown(code: str | int, value: str, text: str) -> None:
    """IDs stay whole and keep their zeros, dates are ISO, and what is no date stays as it is."""
    assert shown(code, value) == text
    assert shown(14, "44887", '<workbookPr date1904="1"/>') == "2026-11-23", "of old Macs"


def test_what_a_sheet_says_of_its_size_is_not_believed() -> None:
    """Some writers leave the size of an empty sheet there, others that of the largest one."""
    rows = '<row r="2"><c r="B2"><v>1</v></c></row><row r="1048576"/>'
    content = f'<sheetData>{rows}</sheetData><extLst><ext uri="x"/></extLst>'
    for size in ("A1", "A1:XFD1048576"):
        part = {"xl/worksheets/s.xml": f'<worksheet xmlns="{_MAIN}"><dimension ref="{size}"/>{content}</worksheet>'}

        assert list(sheet_rows(packed(PARTS | part))) == [(2, ["", "1"])]


NO_WORKBOOK = "no Excel workbook that can be read"
BOOK = PARTS["xl/workbook.xml"]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (sheet('<row><c r="XFDXX1"/></row>'), "row 1: "),
        (
            sheet("<row>" + "<c/>" * 200_001 + "</row>"),
            "it has a row or a text of more than 200,000 elements: export it",
        ),
        (sheet("<row><c><v>many</v></c></row>"), "row 1: invalid literal"),
        (sheet("<row><c><v>" + "1" * 32_768 + "</v></c></row>"), "row 1: Exceeds the limit"),
        (sheet('<row><c t="s"><v>9</v></c></row>'), "row 1: list index"),
        (sheet("<row><c"), NO_WORKBOOK),
        ({"xl/workbook.xml": f'<workbook xmlns="{_MAIN}"/>'}, "no sheet with cells"),
        ({"xl/workbook.xml": BOOK.replace('"a"', '"gone"')}, NO_WORKBOOK),
        ({"xl/workbook.xml": BOOK.replace(_TYPE, _STRICT)}, "it is a Strict Open XML workbook: save it as an ordinary"),
        ({"xl/_rels/workbook.xml.rels": "<R/>"}, NO_WORKBOOK),
        ({"[Content_Types].xml": "<Types/>"}, NO_WORKBOOK),
    ],
)
def test_what_no_spreadsheet_writes_is_refused_in_one_line(parts: dict[str, str], words: str) -> None:
    """The file may be made to fill memory or to run for hours."""
    refused = refusal(parts)

    assert words in refused
    assert len(refused) < 300


def test_entities_are_refused_before_they_grow() -> None:
    """A billion laughs, in a part that is read as a stream; elsewhere entities are not replaced."""
    laughs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<!DOCTYPE x [<!ENTITY a0 "{"ha" * 100}">{laughs}]>'
    for name, part in PARTS.items():
        parts = {name: bomb + part.replace("><", ">&a9;<", 1)}
        tracemalloc.start()
        if "sheet" in name or "Strings" in name:
            assert "amplification" in refusal(parts)
        else:
            with suppress(ValueError):
                list(sheet_rows(packed(PARTS | parts)))
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak_bytes < 100_000_000


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), min_size=1, max_size=20))
def test_a_damaged_workbook_is_a_value_error(changes: list[tuple[int, int]]) -> None:
    content = bytearray(packed().getvalue())
    for at, byte in changes:
        content[at % len(content)] = byte

    try:
        list(sheet_rows(io.BytesIO(bytes(content))))
    except ValueError as error:
        assert str(error)  # noqa: PT017 - what is no error is fine, too


def test_a_part_that_is_too_large_or_locked_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    locked = bytearray(packed().getvalue())
    for at in (found.start() for found in re.finditer(b"PK\x01\x02", locked)):
        locked[at + 8] |= 1

    with pytest.raises(ValueError, match="it has a password"):
        list(sheet_rows(io.BytesIO(locked)))
    monkeypatch.setattr(workbook, "_MOST_BYTES", 100)
    assert "has more than 100 bytes: export it as CSV" in refusal({})
