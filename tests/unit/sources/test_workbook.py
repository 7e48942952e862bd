"""A sheet is read as text, row by row, and no workbook needs much memory."""

import io
import tracemalloc
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import partial
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZipFile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xlsxwriter import Workbook

from proofsweep.sources import workbook
from proofsweep.sources.workbook import WorkbookArchive, sheet_rows

_TYPE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
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
    """Pack parts as a workbook."""
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as book:
        for name, content in parts.items():
            book.writestr(name, content)
    file.seek(0)
    return file


def refusal(parts: Mapping[str, str | bytes]) -> str:
    """Return why a workbook is refused."""
    with pytest.raises(ValueError, match=r"\w") as refused:
        list(sheet_rows(packed(PARTS | dict(parts))))
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
    return {"xl/worksheets/s.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{content}</sheetData></worksheet>'}


def shown(code: str | int, value: str) -> str:
    """Return the text of a number that has a format, by its code or by the number of a built-in one."""
    number = code if isinstance(code, int) else 164
    formats = f'<numFmts><numFmt numFmtId="164" formatCode="{escape(str(code), {chr(34): "&quot;"})}"/></numFmts>'
    style = f'<cellXfs><xf numFmtId="{number}"/></cellXfs>'
    styles = {
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}">{formats}<fonts><font no="font"/></fonts>{style}</styleSheet>'
    }
    content = sheet(f"<row><c><v>{value}</v></c><c t='b'><v>1</v></c></row>")
    ((_, (text, _)),) = sheet_rows(packed(PARTS | styles | content))
    return text


@pytest.mark.parametrize(
    ("code", "value", "text"),
    [
        (0, "4006381333931", "4006381333931"),
        ("General", "1234.0", "1234"),
        (0, "4.006381333931E12", "4006381333931"),
        (0, "0.10000000000000001", "0.1"),
        (0, "-7", "-7"),
        ("0000000000000", "12345", "0000000012345"),
        ("000.0", "12345", "12345"),
        (14, "46349", "2026-11-23"),
        (14, "1", "1900-01-01"),
        (22, "46349.75", "2026-11-23T18:00:00"),
        (22, "46349.27083", "2026-11-23T06:30:00"),
        (20, "0.75", "18:00:00"),
        ("[mm]:ss", "0.00237268518518519", "00:03:25"),
        (31, "46349", "2026-11-23"),
        ("dd.mm.yyyy", "46349", "2026-11-23"),
        ('[$-407]d". "mmmm yyyy;@', "46349", "2026-11-23"),
        ('0" days"', "3", "3"),
        ('#,##0.00 "EUR"', "3.5", "3.5"),
        (14, "4006381333931", "4006381333931"),
    ],
)
def test_a_number_is_written_as_it_is_shown(code: str | int, value: str, text: str) -> None:
    """IDs stay whole and keep their zeros, dates are ISO, and what is no date stays as it is."""
    assert shown(code, value) == text


def test_a_workbook_may_count_days_from_1904() -> None:
    """As those of old Macs do."""
    book = {"xl/workbook.xml": PARTS["xl/workbook.xml"].replace("<sheets>", '<workbookPr date1904="1"/><sheets>')}
    styles = {"xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><cellXfs><xf numFmtId="14"/></cellXfs></styleSheet>'}

    rows = list(sheet_rows(packed(PARTS | book | styles | sheet("<row><c><v>44887</v></c></row>"))))

    assert rows == [(1, ["2026-11-23"])]


def test_an_error_in_a_cell_is_its_text() -> None:
    """As a spreadsheet shows it; a person finds it by the row."""
    rows = list(sheet_rows(packed(PARTS | sheet('<row r="3"><c t="e"><v>#N/A</v></c></row>'))))

    assert rows == [(3, ["#N/A"])]


def test_what_a_sheet_says_of_its_size_is_not_believed() -> None:
    """Some writers leave the size of an empty sheet there, others that of the largest one."""
    rows = '<row r="2"><c r="B2"><v>1</v></c></row><row r="1048576"/>'
    content = f'<sheetData>{rows}</sheetData><extLst><ext uri="x"/></extLst>'
    for size in ("A1", "A1:XFD1048576"):
        part = {"xl/worksheets/s.xml": f'<worksheet xmlns="{_MAIN}"><dimension ref="{size}"/>{content}</worksheet>'}

        assert list(sheet_rows(packed(PARTS | part))) == [(2, ["", "1"])]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (sheet('<row r="1048577"><c/></row>'), "cells or 1,048,576 rows"),
        (sheet('<row><c r="XFE1"/></row>'), "row 1: it has more than 16,384 cells"),
        (sheet('<row><c r="XFDXX1"/></row>'), "row 1: "),
        (sheet("<row>" + "<c/>" * 16_385 + "</row>"), "row 1: it has more than 16,384 cells"),
        (
            sheet('<row r="9"><c t="str"><v>' + "1" * 32_768 + "</v></c></row>"),
            "row 9: it has a cell of more than 32,767",
        ),
        (sheet("<row><c><v>many</v></c></row>"), "row 1: invalid literal"),
        (sheet("<row><c><v>" + "1" * 32_768 + "</v></c></row>"), "row 1: Exceeds the limit"),
        (sheet('<row><c t="s"><v>9</v></c></row>'), "row 1: list index"),
        (sheet("<row><c"), "no Excel workbook that can be read"),
        ({"xl/workbook.xml": f'<workbook xmlns="{_MAIN}"/>'}, "no sheet with cells"),
        ({"xl/workbook.xml": PARTS["xl/workbook.xml"].replace('"a"', '"gone"')}, "no Excel workbook that can be read"),
        ({"xl/_rels/workbook.xml.rels": "<R/>"}, "no Excel workbook that can be read"),
        (
            {"xl/sharedStrings.xml": f'<sst xmlns="{_MAIN}"><si><t>{"x" * 200_000}</t></si></sst>'},
            "than 32,767 letters",
        ),
        ({"[Content_Types].xml": "<Types/>"}, "no Excel workbook that can be read"),
    ],
)
def test_what_no_spreadsheet_writes_is_refused_in_one_line(parts: dict[str, str], words: str) -> None:
    """The file may be made to fill memory or to run for hours."""
    refused = refusal(parts)

    assert words in refused
    assert len(refused) < 300


def test_entities_are_refused_before_they_grow() -> None:
    """A billion laughs, in any part."""
    laughs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<!DOCTYPE x [<!ENTITY a0 "ha">{laughs}]>'
    for name, part in PARTS.items():
        laughing = part.replace("><", ">&a9;<", 1)
        for content in (bomb + laughing, f'<?xml version="1.0" encoding="UTF-16"?>{bomb}{laughing}'.encode("utf-16")):
            assert "it declares a document type" in refusal({name: content})


def test_cells_end_in_one_line_and_in_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sheet of a billion cells is a few megabytes when packed."""
    monkeypatch.setattr(workbook, "_MOST_CELLS", 50_000)
    row = "<row>" + "<c/>" * 10_000 + "</row>"
    file = packed(PARTS | sheet(row * 100))
    tracemalloc.start()

    with pytest.raises(ValueError, match=r"more than 50,000 cells or .* rows: export it as CSV"):
        list(sheet_rows(file))

    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 12_000_000


def test_nothing_of_a_row_stays_in_memory() -> None:
    """Each may have a height and more, which nobody asks for."""
    file = packed(PARTS | sheet(f'<row ht="{"1" * 10_000}"><c><v>1</v></c></row>' * 2_000))
    tracemalloc.start()

    assert sum(1 for _ in sheet_rows(file)) == 2_000

    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 8_000_000


def test_a_strict_workbook_is_refused_with_what_to_do() -> None:
    """Excel writes it only when it is asked to; its namespaces are others."""
    strict = "http://purl.oclc.org/ooxml/officeDocument/relationships"

    refused = refusal({"xl/workbook.xml": PARTS["xl/workbook.xml"].replace(_TYPE, strict)})

    assert refused == "it is a Strict Open XML workbook: save it as an ordinary .xlsx"


def test_texts_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes memory, the empty one too."""
    monkeypatch.setattr(workbook, "_MOST_TEXTS", 100)

    assert "more than 100 texts" in refusal({"xl/sharedStrings.xml": f'<sst xmlns="{_MAIN}">{"<si/>" * 101}</sst>'})


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


def archive(content: bytes, kind: int = ZIP_DEFLATED) -> io.BytesIO:
    """Pack one part."""
    file = io.BytesIO()
    with ZipFile(file, "w", kind) as packed:
        packed.writestr("a.xml", content)
    return file


def test_elements_come_one_by_one() -> None:
    """Up to the end of their parent: what follows is not even parsed. The element that came before is empty then."""
    part = WorkbookArchive(archive(b"<x><p><b n='1'><c/></b><b n='2'><c/></b></p>" + b"<" * 100)).part("a.xml")

    elements = []
    for element in part.elements("p", "b"):
        assert len(element) == 1
        elements.append(element)

    assert [element.get("n") for element in elements] == ["1", "2"]


def test_a_part_is_long_but_its_pieces_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred thousand rows are read, one endless row is not, be it of elements or of text."""
    monkeypatch.setattr(workbook, "_MOST_PIECE_BYTES", 50_000)
    rows = b"<p>" + b"<b/>" * 100_000 + b"</p>"

    assert sum(1 for _ in WorkbookArchive(archive(rows)).part("a.xml").elements("p", "b")) == 100_000
    for endless in (
        b"<p><b>" + b"<c/>" * 100_000,
        b"<p>" * 100_000,
        b"<p><b>" + b"x" * 200_000,
        b"<p><b c='" + b"x" * 200_000,
    ):
        with pytest.raises(ValueError, match=r"its part a.xml has a piece of more than 50,000 bytes: export it as CSV"):
            list(WorkbookArchive(archive(endless)).part("a.xml").elements("p", "b"))


def test_elements_are_counted_at_any_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of many elements take hours, and are few."""
    monkeypatch.setattr(workbook, "_MOST_ELEMENTS", 1_000)
    part = WorkbookArchive(archive(b"<p>" + b"<b><c><d/></c></b>" * 1_000 + b"</p>")).part("a.xml")

    with pytest.raises(ValueError, match=r"its part a.xml has more than 1,000 elements: export it as CSV"):
        list(part.elements("p", "b"))


def test_a_part_that_is_too_large_is_not_unpacked() -> None:
    """Its size stands in the archive, and no more is unpacked than stands there."""
    packed = WorkbookArchive(archive(b" " * 5_000_000))

    with pytest.raises(ValueError, match=r"a.xml has 5,000,000 bytes, and at most 1,000 are read: export it as CSV"):
        packed.part("a.xml", 1_000)
    with pytest.raises(ValueError, match="at most 4,194,304 are read"):
        packed.read("a.xml")


def test_a_document_type_is_seen_between_two_reads() -> None:
    """Also as UTF-16."""
    for text in (b"<?xml version='1.0'?><!DOCTYPE a>", "<!DOCTYPE a>".encode("utf-16-le")):
        part = WorkbookArchive(archive(text)).part("a.xml")

        with pytest.raises(ValueError, match="declares a document type"):
            list(iter(partial(part.read, 7), b""))


def test_a_password_and_other_packings_are_refused() -> None:
    """Unpacking some of them takes memory that the file chooses."""
    locked = bytearray(archive(b"<a/>").getvalue())
    locked[locked.find(b"PK\x01\x02") + 8] |= 1

    with pytest.raises(ValueError, match="it is not packed as workbooks are"):
        WorkbookArchive(archive(b"<a/>", ZIP_LZMA)).read("a.xml")
    with pytest.raises(ValueError, match="it has a password: save it without one"):
        WorkbookArchive(io.BytesIO(bytes(locked))).read("a.xml")
