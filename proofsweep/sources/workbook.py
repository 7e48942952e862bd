"""Read one sheet of an Excel workbook (.xlsx) row by row, as text; only a little of it is in memory."""

import re
import struct
import textwrap
import zlib
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import IO
from xml.etree.ElementTree import Element, iterparse
from zipfile import BadZipFile, ZipFile

from openpyxl.cell.text import Text  # type: ignore[import-untyped]  # it has none
from openpyxl.reader.excel import ExcelReader  # type: ignore[import-untyped]  # the same
from openpyxl.styles.numbers import BUILTIN_FORMATS, is_date_format  # type: ignore[import-untyped]  # the same
from openpyxl.utils.datetime import SECS_PER_DAY, from_excel  # type: ignore[import-untyped]  # the same
from openpyxl.worksheet._reader import WorkSheetParser  # type: ignore[import-untyped]  # the same
from openpyxl.xml.constants import SHEET_MAIN_NS  # type: ignore[import-untyped]  # the same
from openpyxl.xml.functions import fromstring  # type: ignore[import-untyped]  # the same

from proofsweep.sources.columns import cell_text

# Bounds on what a file can make us do: 1,048,576 rows of 16 short cells have 1 GiB.
_MOST_BYTES = 2 * 1024**3
_MOST_ELEMENTS = 200_000  # of a row: 16,384 cells of some elements each
_MOST_WORDS = 200

_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_BROKEN = (
    *(BadZipFile, zlib.error, struct.error, EOFError, OSError, NotImplementedError),
    *(SyntaxError, TypeError, AttributeError, LookupError),  # of openpyxl, and of XML
)


def sheet_rows(file: IO[bytes], sheet: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and cells of each row of a sheet that is not empty; ValueError if it cannot be read.

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
        yield from _rows(reader, _chosen(reader, sheet))
    except _BROKEN as error:
        raise ValueError(f"it is no Excel workbook that can be read: {_start_of(error)}") from error


def _rows(reader: ExcelReader, name: str) -> Iterator[tuple[int, list[str]]]:
    archive: ZipFile = reader.archive
    targets = {kind.rpartition("/")[2]: each.target for each in reader.parser.rels.values() if (kind := each.Type)}
    texts = _texts(archive, targets.get("sharedStrings"))
    formats = _NumberFormats(archive, targets.get("styles"), reader.wb.epoch)
    with archive.open(name) as part:
        parser = WorkSheetParser(part, texts, data_only=True)
        number = 0
        for row in _elements(part, _tag("sheetData"), _tag("row")):
            written = row.get("r", "")
            number = max(number + 1, int(written) if re.fullmatch("[0-9]{1,9}", written) else 0)
            row.attrib.clear()  # the parser would keep the height of each row
            cells = _cells(number, parser, row, formats)
            if any(map(str.strip, cells)):
                yield number, cells


def _chosen(reader: ExcelReader, sheet: str | None) -> str:
    """Return the name of the part of a sheet; by default of the first that can be seen."""
    if any(each.id is None for each in reader.parser.sheets):  # openpyxl does not know its namespaces
        raise ValueError("it is a Strict Open XML workbook: save it as an ordinary .xlsx")
    kinds = [(each, reader.parser.rels[each.id]) for each in reader.parser.sheets]
    sheets = [(each, kind.target) for each, kind in kinds if kind.Type.endswith("/worksheet")]
    if sheet is not None:
        for each, target in sheets:
            if each.name.strip().lower() == sheet.strip().lower():
                return str(target)
        raise ValueError(f"it has no sheet {sheet!r}; there are: {', '.join(each.name for each, _ in sheets)}")
    seen = [target for each, target in sheets if each.state == "visible"] or [target for _, target in sheets]
    if not seen:
        raise ValueError("it has no sheet with cells")
    return str(seen[0])


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
        self._digits: dict[int, int] = {}  # with so many a number is shown at least
        if name is None:
            return
        tree = fromstring(archive.read(name))
        codes = {str(number): code for number, code in BUILTIN_FORMATS.items()}
        for each in tree.iterfind(f"{_tag('numFmts')}/{_tag('numFmt')}"):
            codes[each.get("numFmtId")] = each.get("formatCode", "")
        for style, each in enumerate(tree.iterfind(f"{_tag('cellXfs')}/{_tag('xf')}")):
            code = codes.get(each.get("numFmtId"), "")
            if is_date_format(code):
                self._dates.add(style)
            elif not code.strip("0"):
                self._digits[style] = len(code)

    def text(self, value: object, style: int) -> str:
        """Return the text of a cell: a whole number without a point, a date in ISO, an ID with its leading zeros."""
        if value is None or isinstance(value, bool):
            return cell_text(value)
        if not isinstance(value, int | float):
            return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), str(value))
        if style in self._dates:
            with suppress(ValueError, OverflowError):  # else it is no date, whatever the cell says
                return cell_text(from_excel(round(value * SECS_PER_DAY) / SECS_PER_DAY, self._epoch))
            return str(value)
        text = cell_text(value)
        return text.zfill(self._digits.get(style, 0)) if text.isdigit() else text


def _cells(number: int, parser: WorkSheetParser, row: Element, formats: _NumberFormats) -> list[str]:
    cells: list[str] = []
    try:
        for cell in parser.parse_row(row)[1]:
            if text := formats.text(cell["value"], cell["style_id"]):
                cells += [""] * (cell["column"] - len(cells))
                cells[cell["column"] - 1] = text
    except (ValueError, LookupError) as error:
        raise ValueError(f"row {number}: {_start_of(error)}") from error
    return cells


def _elements(part: IO[bytes], parent: str, tag: str) -> Iterator[Element]:
    """Yield each element of a tag up to the end of its parent. An element is empty when the next one comes."""
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
