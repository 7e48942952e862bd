"""Read one sheet of an Excel workbook (.xlsx) row by row, as text; only a little of it is in memory."""

import re
import struct
import textwrap
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import IO, NamedTuple
from xml.etree.ElementTree import Element, iterparse
from zipfile import BadZipFile, ZipFile

from openpyxl.cell.text import Text  # type: ignore[import-untyped]  # it has none
from openpyxl.reader.excel import ExcelReader  # type: ignore[import-untyped]  # the same
from openpyxl.styles.numbers import (  # type: ignore[import-untyped]  # the same
    BUILTIN_FORMATS,
    is_date_format,
    is_timedelta_format,
)
from openpyxl.utils.cell import range_boundaries  # type: ignore[import-untyped]  # the same
from openpyxl.utils.datetime import SECS_PER_DAY, from_excel  # type: ignore[import-untyped]  # the same
from openpyxl.worksheet._reader import WorkSheetParser  # type: ignore[import-untyped]  # the same
from openpyxl.xml.constants import SHEET_MAIN_NS  # type: ignore[import-untyped]  # the same
from openpyxl.xml.functions import fromstring  # type: ignore[import-untyped]  # the same

from proofsweep.sources.cells import FORMULA, FORMULA_OF_ZERO, cell_text, date_text, is_error

# Bounds on what a file can make us do: 1,048,576 rows of 16 short cells have 1 GiB.
_MOST_BYTES = 2 * 1024**3
_MOST_ELEMENTS = 200_000  # of a row: 16,384 cells of some elements each
_MOST_MERGED = 1_000_000  # ranges; each row of the largest sheet has one
_MOST_WORDS = 200

_SEARCHED_BYTES = 256 * 1024
_LONGEST_TAG_BYTES = 256
# Merged ranges stand behind all rows. They are searched as bytes: to parse the rows twice would take twice as long.
_MERGED = re.compile(rb"""<(?:\w+:)?mergeCell\s[^>]*?ref=["']([A-Z]{1,3}[0-9]{1,7}:[A-Z]{1,3}[0-9]{1,7})["']""")
_COLUMN = re.compile(rb"<(?:\w+:)?col\s[^>]*>")
_ATTRIBUTE = re.compile(rb"""\b(min|max|hidden|width)=["']([^"']*)["']""")
_ASKS_TO_CALCULATE = re.compile(rb"""fullCalcOnLoad=["'](?:1|true)["']""")
_HAS_CELLS = re.compile(rb"<(?:\w+:)?(?:v|is)[\s>]")
_QUOTED = re.compile('"[^"]*"')

_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_BROKEN = (
    *(BadZipFile, zlib.error, struct.error, EOFError, OSError, NotImplementedError),
    *(SyntaxError, TypeError, AttributeError, LookupError),  # of openpyxl, and of XML
)


@dataclass(slots=True)
class SheetFacts:
    """What a person who looks at a sheet does not see; complete after its last row."""

    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: list[tuple[int, int]] = field(default_factory=list)  # ranges, counted from 1
    others: list[str] = field(default_factory=list)  # the other sheets of the workbook that have cells

    def hides_column(self, number: int) -> bool:
        return any(first <= number <= last for first, last in self.hidden_columns)


def sheet_rows(
    file: IO[bytes], sheet: str | None = None, facts: SheetFacts | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and cells of each row of a sheet that is not empty; ValueError if it cannot be read.

    A cell shows what it would in a spreadsheet program, but for what `cells` says of formulas and errors. The value of
    a merged range stands in each row of its first column.

    Entities are no danger: the parser of XML bounds what they grow to.
    """
    try:
        reader = ExcelReader(file, read_only=True, data_only=True, keep_links=False)
        for info in reader.archive.infolist():
            if info.flag_bits & 1:
                raise ValueError("it has a password: save it without one")
            if info.file_size > _MOST_BYTES:  # no more than stands there is unpacked
                raise ValueError(f"its part {info.filename} has more than {_MOST_BYTES:,} bytes: export it as CSV")
        reader.read_manifest()
        reader.read_workbook()
        if facts is None:
            facts = SheetFacts()
        yield from _rows(reader, _chosen(reader, sheet, facts), facts)
    except _BROKEN as error:
        raise ValueError(f"it is no Excel workbook that can be read: {_start_of(error)}") from error


def _rows(reader: ExcelReader, name: str, facts: SheetFacts) -> Iterator[tuple[int, list[str]]]:
    archive: ZipFile = reader.archive
    targets = dict[str, str]()
    for relation in reader.parser.rels.values():
        if relation.Type:
            kind = relation.Type.rpartition("/")[2]
            targets[kind] = relation.target
    texts = _texts(archive, targets.get("sharedStrings"))
    formats = _NumberFormats(archive, targets.get("styles"), reader.wb.epoch)
    # A program that writes formulas without working them out asks spreadsheet programs to do so. openpyxl takes this
    # for said where it is not.
    with archive.open(reader.parser.workbook_part_name) as part:
        is_calculated = _ASKS_TO_CALCULATE.search(part.read()) is None
    with archive.open(name) as part:
        merged = _MergedCells(_merged_in(part))
    with archive.open(name) as part:
        facts.hidden_columns = list(_hidden_columns_in(part.read(_SEARCHED_BYTES)))
    with archive.open(name) as part:
        parser = WorkSheetParser(part, texts, data_only=True)
        number = 0
        for row in _elements(part, _tag("sheetData"), _tag("row")):
            # A row need not say its number; then it follows on the one before.
            number += 1
            written = row.get("r", "")
            if re.fullmatch("[0-9]{1,9}", written):
                number = max(number, int(written))
            if _is_hidden(row):
                facts.hidden_rows.add(number)
            row.attrib.clear()  # the parser would keep the height of each row
            cells = _cells(number, parser, row, formats, is_calculated=is_calculated)
            merged.begin(number, cells)
            if any(map(str.strip, cells)):
                yield number, merged.filled(cells, number)


class _MergedCells:
    """The ranges of a sheet over several rows: the value of the first cell counts for each row."""

    def __init__(self, ranges: Iterable[str]) -> None:
        downward = list[tuple[int, int, int]]()
        for column, top, _, bottom in map(range_boundaries, ranges):
            if bottom > top:  # in a range of one row the value stands where it is read
                downward.append((top, bottom, column))
        self._waiting = deque(sorted(downward))
        self._values: dict[int, tuple[int, str]] = {}  # of each column, down to which row it has which value

    def begin(self, number: int, cells: list[str]) -> None:
        """Go on to a row: keep the values of ranges that begin in it, also if the row has nothing else."""
        while self._waiting and self._waiting[0][0] <= number:
            top, bottom, column = self._waiting.popleft()
            value = "".join(cells[column - 1 : column])
            if top == number and value:
                self._values[column] = bottom, value

    def filled(self, cells: list[str], number: int) -> list[str]:
        for column, (bottom, value) in list(self._values.items()):
            if bottom < number:
                del self._values[column]
                continue
            cells += [""] * (column - len(cells))
            cells[column - 1] = cells[column - 1] or value
        return cells


def _merged_in(part: IO[bytes]) -> set[str]:
    """Read a sheet to its end, and return its ranges of merged cells, as `A2:A4`."""
    ranges, end = set[bytes](), b""
    for piece in iter(partial(part.read, _SEARCHED_BYTES), b""):
        content = end + piece
        # To look for the word first is a hundred times as fast as to try the expression at each tag.
        if b"mergeCell" in content:
            ranges.update(_MERGED.findall(content))
        if len(ranges) > _MOST_MERGED:
            raise ValueError(f"it has more than {_MOST_MERGED:,} merged ranges: export it as CSV")
        end = content[-_LONGEST_TAG_BYTES:]
    return {merged.decode() for merged in ranges}


def _hidden_columns_in(start: bytes) -> Iterator[tuple[int, int]]:
    """Yield the ranges of columns that are hidden, or have no width."""
    before_rows, _, _ = start.partition(b"sheetData")
    for column in _COLUMN.findall(before_rows):
        attributes = dict(_ATTRIBUTE.findall(column))
        width = attributes.get(b"width", b"1")
        is_hidden = attributes.get(b"hidden") in {b"1", b"true"} or not width.strip(b"0.")
        first = attributes.get(b"min", b"")
        last = attributes.get(b"max", b"")
        if is_hidden and first.isdigit() and last.isdigit():
            yield int(first), int(last)


def _is_hidden(row: Element) -> bool:
    """Whether a row is hidden by a person, a filter or a group that is folded, or has no height."""
    height = row.get("ht", "1")
    return row.get("hidden") in {"1", "true"} or not height.strip("0.")


def _chosen(reader: ExcelReader, sheet: str | None, facts: SheetFacts) -> str:
    """Return the name of the part of a sheet, by default of the first that can be seen; and note the others."""
    sheets = _sheets_of(reader)
    if sheet is not None:
        wanted = sheet.strip().lower()
        targets = [entry.target for entry in sheets if entry.name.strip().lower() == wanted]
        if not targets:
            names = ", ".join(entry.name for entry in sheets)
            raise ValueError(f"it has no sheet {sheet!r}; there are: {names}")
    else:
        targets = [entry.target for entry in sheets if entry.is_visible]
        # A workbook whose sheets are all hidden still has a first one.
        targets = targets or [entry.target for entry in sheets]
        if not targets:
            raise ValueError("it has no sheet with cells")
    for other in sheets:
        if other.target != targets[0] and _has_cells(reader.archive, other.target):
            facts.others.append(other.name)
    return targets[0]


class _Sheet(NamedTuple):
    name: str
    target: str  # the name of its part
    is_visible: bool


def _sheets_of(reader: ExcelReader) -> list[_Sheet]:
    sheets = list[_Sheet]()
    for entry in reader.parser.sheets:
        if entry.id is None:  # openpyxl does not know its namespaces
            raise ValueError("it is a Strict Open XML workbook: save it as an ordinary .xlsx")
        relation = reader.parser.rels[entry.id]
        if relation.Type.endswith("/worksheet"):
            sheets.append(_Sheet(entry.name, str(relation.target), entry.state == "visible"))
    return sheets


def _has_cells(archive: ZipFile, name: str) -> bool:
    try:
        with archive.open(name) as part:
            return _HAS_CELLS.search(part.read(_SEARCHED_BYTES)) is not None
    except (KeyError, *_BROKEN):  # nobody asked for this sheet
        return False


def _texts(archive: ZipFile, name: str | None) -> list[str]:
    if name is None:
        return []
    with archive.open(name) as part:
        return [Text.from_tree(element).content for element in _elements(part, _tag("sst"), _tag("si"))]


class _NumberFormats:
    """How numbers are shown, by the style of their cells: dates and times, and codes with leading zeros."""

    def __init__(self, archive: ZipFile, name: str | None, epoch: datetime) -> None:
        self._epoch = epoch  # the day that dates count from
        self._dates: set[int] = set()
        self._durations: set[int] = set()
        self._digits: dict[int, int] = {}  # with so many a number is shown at least
        if name is None:
            return
        tree = fromstring(archive.read(name))
        codes = {str(number): code for number, code in BUILTIN_FORMATS.items()}
        for own_format in tree.iterfind(f"{_tag('numFmts')}/{_tag('numFmt')}"):
            codes[own_format.get("numFmtId")] = own_format.get("formatCode", "")
        for style, cell_format in enumerate(tree.iterfind(f"{_tag('cellXfs')}/{_tag('xf')}")):
            code = codes.get(cell_format.get("numFmtId"), "")
            if is_date_format(code):
                self._dates.add(style)
                if is_timedelta_format(code):
                    self._durations.add(style)
            elif not code.strip("0"):
                self._digits[style] = len(code)

    def text(self, value: object, style: int) -> str:
        """Return the text of a cell: a whole number without a point, a date in ISO, an ID with its leading zeros."""
        if value is None or isinstance(value, bool):
            return cell_text(value)
        if isinstance(value, date | time | timedelta):  # the workbook has it as ISO text
            return cell_text(value)
        if not isinstance(value, int | float):
            text = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), str(value))
            return date_text(text) if style in self._dates else text
        if style in self._dates:
            return self._date_text(value, style)
        text = cell_text(value)
        if text.isdigit():
            return text.zfill(self._digits.get(style, 0))
        return text

    def _date_text(self, value: float, style: int) -> str:
        try:
            # A time is a fraction of a day: without the rounding, it would miss its second by a little.
            days = round(value * SECS_PER_DAY) / SECS_PER_DAY
            return cell_text(from_excel(days, self._epoch, timedelta=style in self._durations))
        except (ValueError, OverflowError):  # it is no date, whatever the cell says
            return str(value)


def _cells(
    number: int, parser: WorkSheetParser, row: Element, formats: _NumberFormats, *, is_calculated: bool
) -> list[str]:
    cells: list[str] = []
    try:
        _, parsed = parser.parse_row(row)
        for element, cell in zip(row, parsed, strict=True):
            text = formats.text(cell["value"], cell["style_id"])
            if cell["data_type"] == "e":
                text = text if is_error(text) else "#ERROR!"
            elif not text.strip("0."):
                formula = element.find(_FORMULA_TAG)
                if formula is not None:
                    text = _calculated(text, formula, element.get("t", "n"), is_calculated=is_calculated)
            if text:
                column = cell["column"]
                cells += [""] * (column - len(cells))
                cells[column - 1] = text
    except (ValueError, LookupError) as error:
        raise ValueError(f"row {number}: {_start_of(error)}") from error
    return cells


def _calculated(text: str, formula: Element, kind: str, *, is_calculated: bool) -> str:
    # An empty value, or 0, may stand there because nobody has worked the formula out.
    if kind != "n":
        return text  # also an empty text: that was worked out
    # A formula that joins texts never has the number 0.
    joins_text = "&" in _QUOTED.sub("", formula.text or "")
    if text and is_calculated and not joins_text:
        return FORMULA_OF_ZERO
    return FORMULA


def _elements(part: IO[bytes], parent: str, tag: str) -> Iterator[Element]:
    """Yield each element of a tag up to the end of its parent."""
    # An element is emptied before the next one comes, so that only a little of the file is in memory.
    above: list[Element] = []
    seen = 0
    for event, element in iterparse(part, ("start", "end")):  # noqa: S314 - expat bounds what entities grow to
        if event == "start":
            above.append(element)
            seen += 1
            if seen > _MOST_ELEMENTS:
                raise ValueError(f"it has a row or a text of more than {_MOST_ELEMENTS:,} elements: export it as CSV")
            continue
        above.pop()
        if element.tag == tag and above:
            yield element
            above[-1].clear()
            seen = 0
        elif element.tag == parent:
            return


def _start_of(error: Exception) -> str:
    return textwrap.shorten(str(error), _MOST_WORDS)


def _tag(name: str) -> str:
    return f"{{{SHEET_MAIN_NS}}}{name}"


_FORMULA_TAG = _tag("f")
