"""A completion report as CSV and as a workbook for people, and as JSON and Parquet for programs."""

import errno
import json
import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from io import BytesIO
from itertools import chain, islice
from math import ceil
from textwrap import wrap
from typing import IO
from unicodedata import east_asian_width

import pyarrow as pa
import pyarrow.parquet as pq
from lxml.etree import SerialisationError
from openpyxl import Workbook  # type: ignore[import-untyped]  # it has none
from openpyxl.cell import WriteOnlyCell  # type: ignore[import-untyped]  # the same
from openpyxl.styles import Alignment, Font  # type: ignore[import-untyped]  # the same
from openpyxl.utils import get_column_letter  # type: ignore[import-untyped]  # the same
from openpyxl.worksheet._write_only import WriteOnlyWorksheet  # type: ignore[import-untyped]  # the same
from openpyxl.worksheet.page import PageMargins  # type: ignore[import-untyped]  # the same
from openpyxl.worksheet.properties import PageSetupProperties  # type: ignore[import-untyped]  # the same

from proofsweep.domain.errors import UsageError
from proofsweep.domain.items import utf8_text
from proofsweep.domain.text import csv_cell, printable, shown_value

_ROWS_AT_ONCE = 5_000
_CUTS = re.compile(r'[",;|\t\r\n]')  # quoted: some spreadsheets cut at semicolons, tabs and bars too
_SHEET_ROWS = 1_048_576  # a spreadsheet has no more, the header included
# That a column shows: at least, and at most of a tag, of a text that wraps, and of one that does not. With so many, a
# list with seven tags can still be read on paper.
_LEAST_LETTERS, _TAG_LETTERS, _TEXT_LETTERS, _MOST_LETTERS = 8, 18, 32, 60
_WIDE = ("W", "F")  # by the Unicode standard, annex 11
_LINE_POINTS, _MOST_POINTS = 15, 405  # the height of a line, and of a row; a spreadsheet takes no higher one
_TITLE_LETTERS = 100  # the header of a page has at most 255
_ARROW_LETTERS = 3  # The arrow of a filter covers so many letters of a header
_ESCAPED = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")  # what a spreadsheet would take for the escape of a letter
_NUMBERS = ("http_status", "audio_bytes")
_CELL_LETTERS = 32_767  # a cell has no more
_BOLD = Font(name="Calibri", size=11, bold=True)  # as the other cells, but bold
_TOP = Alignment(vertical="top")
_WRAPPED = Alignment(vertical="top", wrap_text=True)


@dataclass(frozen=True, slots=True)
class CompletionReport:
    tags: Sequence[str]
    own: Sequence[str]  # the names of the report's own columns; the tags stand after the first
    rows: Iterator[Sequence[object]]  # cells in the order of the header
    count: int  # of the rows
    for_people: int  # how many of the own columns people read, the first ones; the others are not printed
    sheet: str = "files"  # its name in a workbook
    title: str = ""  # above each printed page

    @property
    def header(self) -> list[str]:
        first, *others = self.own
        return [first, *self.tags, *others]

    @property
    def names(self) -> list[str]:
        """The header without a name twice: a tag with the name of one of the report's own columns is `tag_<name>`."""
        first, *others = self.own
        tags = list(self.tags)
        for place, name in enumerate(tags):
            if name in self.own:
                tags[place] = f"tag_{name}"
        return [first, *tags, *others]

    @property
    def printed(self) -> int:
        return self.for_people + len(self.tags)

    @property
    def most_letters(self) -> list[int]:
        """How many letters each column shows at most."""
        tags = [_TAG_LETTERS] * len(self.tags)
        texts = [_TEXT_LETTERS] * (self.for_people - 1)
        columns_for_support = len(self.own) - self.for_people
        for_support = [_MOST_LETTERS] * columns_for_support
        return [_TEXT_LETTERS, *tags, *texts, *for_support]


def write_csv(file: IO[bytes], report: CompletionReport) -> None:
    """Write a manifest with exact locations, marked as UTF-8; what a spreadsheet would run as a formula is defused."""
    file.write(BOM_UTF8)
    for cells in chain([report.header], report.rows):
        line = ",".join(map(_text_of, cells)) + "\r\n"
        # A name of a disk may be no UTF-8: its own bytes are written, so that the location leads to the file.
        file.write(line.encode("utf-8", "surrogateescape"))


def _text_of(cell: object) -> str:
    text = csv_cell(cell)
    if not _CUTS.search(text):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def write_json(file: IO[bytes], report: CompletionReport) -> None:
    """Write one array of objects, each on a line of its own."""
    names = report.names
    # Line by line, and not with one call: there may be more rows than fit into memory.
    before = b"[\n"
    for row in report.rows:
        cells = dict(zip(names, row, strict=True))
        line = json.dumps(cells, default=shown_value)
        file.write(before + line.encode("ascii"))
        before = b",\n"
    end = b"\n]\n"
    if before == b"[\n":  # there was no row
        end = b"[]\n"
    file.write(end)


def write_parquet(file: IO[bytes], report: CompletionReport) -> None:
    """Write columns with types; texts that cannot be UTF-8 are escaped."""
    kinds: dict[str, pa.DataType] = {"finished_at": pa.timestamp("us", tz="UTC")}
    for name in _NUMBERS:
        kinds[name] = pa.int64()
    fields = [(name, kinds.get(name, pa.string())) for name in report.names]
    schema = pa.schema(fields)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while rows := list(islice(report.rows, _ROWS_AT_ONCE)):
            table: dict[str, list[object]] = {}
            columns = zip(*rows, strict=True)
            for field, column in zip(schema, columns, strict=True):
                table[field.name] = [_typed(cell, field.type) for cell in column]
            writer.write_table(pa.Table.from_pydict(table, schema=schema))


def _typed(cell: object, kind: pa.DataType) -> object:
    if cell is None or not pa.types.is_string(kind):
        return cell
    return utf8_text(str(cell))


def write_xlsx(file: IO[bytes], report: CompletionReport) -> None:
    """Write a workbook: a frozen header, filters, dates in UTC, no formulas; printed, it is one page wide.

    UsageError if a sheet is too small.
    """
    if report.count >= _SHEET_ROWS:
        raise UsageError(f"A sheet holds at most {_SHEET_ROWS - 1:,} rows: take --format csv, or --by TAG.")
    book = Workbook(write_only=True)
    sheet = book.create_sheet(report.sheet)
    try:
        _write_rows(sheet, report)
        content = BytesIO()  # an archive that cannot be written whole would complain when it is collected
        book.save(content)
    except BaseException as error:
        with suppress(Exception):  # so does a sheet that is not closed; what hindered it is raised
            sheet.close()
        if isinstance(error, SerialisationError):  # lxml tells it by the name of the system's error: IO_ENOSPC
            name = str(error).removeprefix("IO_")
            code = getattr(errno, name, errno.EIO)
            raise OSError(code, os.strerror(code)) from error
        raise
    file.write(content.getvalue())


def _write_rows(sheet: WriteOnlyWorksheet, report: CompletionReport) -> None:
    first = list(islice(report.rows, _ROWS_AT_ONCE))
    # A sheet that is written row by row takes the widths of its columns before the first row alone.
    widths = _widths([report.header, *first], report.most_letters)
    for number, width in enumerate(widths, 1):
        column = sheet.column_dimensions[get_column_letter(number)]
        column.width = width
    _set_pages(sheet, report)
    # The other columns do not wrap: a long text for support would make each row as high as a paragraph.
    for_support = len(widths) - report.printed
    looks = [_model(sheet, _WRAPPED)] * report.printed
    looks += [_model(sheet, _TOP)] * for_support
    bold = _model(sheet, _WRAPPED, _BOLD)
    sheet.append([_cell(sheet, name, bold) for name in report.header])
    for number, row in enumerate(chain(first, report.rows), 2):
        printed_cells = row[: report.printed]
        # Not every program fits the height of a row to what wraps in it.
        lines = max(map(_lines, printed_cells, widths))
        if lines > 1:
            points = min(lines * _LINE_POINTS, _MOST_POINTS)
            sheet.row_dimensions[number].height = points
        cells = [_cell(sheet, value, look) for value, look in zip(row, looks, strict=True)]
        sheet.append(cells)
    sheet.auto_filter.ref = _area(report, len(report.header))


def _area(report: CompletionReport, columns: int) -> str:
    """Name the cells of the first columns, the header included, as a spreadsheet does."""
    last_column = get_column_letter(columns)
    last_row = report.count + 1
    return f"A1:{last_column}{last_row}"


def _widths(rows: Sequence[Sequence[object]], most: Sequence[int]) -> list[int]:
    """Return the width of each column in letters: that of its content, within bounds. The first row is the header."""
    widths = []
    columns = zip(*rows, strict=True)
    for (name, *cells), most_letters in zip(columns, most, strict=True):
        wanted = _letters(str(name)) + _ARROW_LETTERS
        for cell in cells:
            if cell is not None:
                wanted = max(wanted, _letters(str(cell)))
        wanted = max(wanted, _LEAST_LETTERS)
        widths.append(min(wanted, most_letters) + 2)
    return widths


def _letters(text: str) -> int:
    """Count letters by their width: those of Chinese, Japanese and Korean are twice as wide."""
    if text.isascii():
        return len(text)
    widths = map(east_asian_width, text)
    wide = sum(width in _WIDE for width in widths)
    return len(text) + wide


def _lines(value: object, width: int) -> int:
    if value is None:
        return 1
    text = str(value)
    if _letters(text) < width:
        return 1
    return _wrapped_lines(text, width)


@lru_cache(maxsize=1_000)
def _wrapped_lines(text: str, width: int) -> int:
    # `wrap` counts a wide letter as one, so a Chinese title would lose its last lines.
    without_blanks = ceil(_letters(text) / width)
    lines = wrap(text, width)
    return max(len(lines), without_blanks)


def _set_pages(sheet: WriteOnlyWorksheet, report: CompletionReport) -> None:
    """Keep the header in sight and on each page, and print the columns for people as wide as the paper is."""
    sheet.freeze_panes = "A2"
    setup = sheet.page_setup
    setup.orientation = "landscape"
    setup.fitToWidth = 1
    setup.fitToHeight = 0  # as many pages as there must be
    sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
    sheet.print_area = _area(report, report.printed)
    sheet.print_title_rows = "1:1"
    sheet.print_options.gridLines = True
    sheet.page_margins = PageMargins(left=0.4, right=0.4, top=0.75, bottom=0.75, header=0.3, footer=0.3)  # inches
    title = printable(report.title)[:_TITLE_LETTERS]
    sheet.oddHeader.left.text = title.replace("&", "&&")  # `&P` is a number
    sheet.oddFooter.right.text = "&P / &N"


def _model(sheet: WriteOnlyWorksheet, alignment: Alignment, font: Font | None = None) -> WriteOnlyCell:
    """Return a cell whose look the others copy."""
    # To set a look anew in each cell takes longer.
    cell = WriteOnlyCell(sheet)
    cell.alignment = alignment
    if font is not None:
        cell.font = font
    return cell


def _cell(sheet: WriteOnlyWorksheet, value: object, model: WriteOnlyCell) -> object:
    """Return a cell for a value; a text stays one, whatever it looks like, and is read again as it was."""
    if value is None:
        return None
    cell = WriteOnlyCell(sheet)
    cell._style = copy(model._style)  # noqa: SLF001 - it has no other way to share a look
    match value:
        case bool() | int():
            cell.value = value
        case datetime():
            in_utc = value.astimezone(UTC)
            cell.value = in_utc.replace(tzinfo=None)  # a spreadsheet knows no zone
            cell.number_format = "yyyy-mm-dd hh:mm:ss"
        case _:
            line = printable(str(value))
            text = _ESCAPED.sub("_x005F_", line)
            cell.value = text[:_CELL_LETTERS]
            cell.data_type = "s"  # else a text that begins with an equals sign is a formula
    return cell
