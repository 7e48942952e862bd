"""A completion report as CSV and as a workbook for people, and as JSON and Parquet for programs."""

import errno
import json
import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from itertools import chain, islice
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq
from lxml.etree import SerialisationError
from openpyxl import Workbook  # type: ignore[import-untyped]  # it has none
from openpyxl.cell import WriteOnlyCell  # type: ignore[import-untyped]  # the same
from openpyxl.styles import Font  # type: ignore[import-untyped]  # the same
from openpyxl.utils import get_column_letter  # type: ignore[import-untyped]  # the same
from openpyxl.worksheet._write_only import WriteOnlyWorksheet  # type: ignore[import-untyped]  # the same

from proofsweep.domain.errors import UsageError
from proofsweep.domain.items import utf8_text
from proofsweep.domain.text import csv_cell, printable, shown_value

_ROWS_AT_ONCE = 5_000
_CUTS = re.compile(r'[",;|\t\r\n]')  # quoted: some spreadsheets cut at semicolons, tabs and bars too
_SHEET_ROWS = 1_048_576  # a spreadsheet has no more, the header included
_LEAST_LETTERS, _MOST_LETTERS = 8, 60  # that a column shows
_ARROW_LETTERS = 3  # The arrow of a filter covers so many letters of a header
_ESCAPED = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")  # what a spreadsheet would take for the escape of a letter
_NUMBERS = ("http_status", "audio_bytes")
_CELL_LETTERS = 32_767  # a cell has no more
_BOLD = Font(bold=True)


@dataclass(frozen=True, slots=True)
class CompletionReport:
    tags: Sequence[str]
    own: Sequence[str]  # the names of the report's own columns; the tags stand after the first
    rows: Iterator[Sequence[object]]  # cells in the order of the header
    count: int  # of the rows

    @property
    def header(self) -> list[str]:
        return [self.own[0], *self.tags, *self.own[1:]]

    @property
    def names(self) -> list[str]:
        """The header without a name twice: a tag with the name of one of the report's own columns is `tag_<name>`."""
        tags = (f"tag_{name}" if name in self.own else name for name in self.tags)
        return [self.own[0], *tags, *self.own[1:]]


def write_csv(file: IO[bytes], report: CompletionReport) -> None:
    """Write a manifest with exact locations, marked as UTF-8; what a spreadsheet would run as a formula is defused."""
    file.write(BOM_UTF8)
    for cells in chain([report.header], report.rows):
        file.write(f"{','.join(map(_text_of, cells))}\r\n".encode("utf-8", "surrogateescape"))


def _text_of(cell: object) -> str:
    text = csv_cell(cell)
    return '"' + text.replace('"', '""') + '"' if _CUTS.search(text) else text


def write_json(file: IO[bytes], report: CompletionReport) -> None:
    """Write one array of objects, each on a line of its own."""
    between = b"[\n"
    for row in report.rows:
        cells = dict(zip(report.names, row, strict=True))
        file.write(between + json.dumps(cells, default=shown_value).encode("ascii"))
        between = b",\n"
    file.write(b"[]\n" if between == b"[\n" else b"\n]\n")


def write_parquet(file: IO[bytes], report: CompletionReport) -> None:
    """Write columns with types; texts that cannot be UTF-8 are escaped."""
    kinds = {"finished_at": pa.timestamp("us", tz="UTC"), **dict.fromkeys(_NUMBERS, pa.int64())}
    schema = pa.schema([pa.field(name, kinds.get(name, pa.string())) for name in report.names])
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while rows := list(islice(report.rows, _ROWS_AT_ONCE)):
            columns = zip(schema, zip(*rows, strict=True), strict=True)
            cells = {field.name: [_typed(cell, field.type) for cell in column] for field, column in columns}
            writer.write_table(pa.Table.from_pydict(cells, schema=schema))


def _typed(cell: object, kind: pa.DataType) -> object:
    return utf8_text(str(cell)) if cell is not None and pa.types.is_string(kind) else cell


def write_xlsx(file: IO[bytes], report: CompletionReport) -> None:
    """Write a workbook: a frozen header, filters, dates in UTC, no formulas; UsageError if a sheet is too small."""
    if report.count >= _SHEET_ROWS:
        raise UsageError(f"A sheet holds at most {_SHEET_ROWS - 1:,} rows: take --format csv, or --by TAG.")
    book = Workbook(write_only=True)
    sheet = book.create_sheet("files")
    try:
        _write_rows(sheet, report)
        content = BytesIO()  # an archive that cannot be written whole would complain when it is collected
        book.save(content)
    except BaseException as error:
        with suppress(Exception):  # so does a sheet that is not closed; what hindered it is raised
            sheet.close()
        if isinstance(error, SerialisationError):  # lxml tells it by the name of the system's error: IO_ENOSPC
            code = getattr(errno, str(error).removeprefix("IO_"), errno.EIO)
            raise OSError(code, os.strerror(code)) from error
        raise
    file.write(content.getvalue())


def _write_rows(sheet: WriteOnlyWorksheet, report: CompletionReport) -> None:
    first = list(islice(report.rows, _ROWS_AT_ONCE))
    _set_widths(sheet, [report.header, *first])
    sheet.append([_cell(sheet, cell, is_bold=True) for cell in report.header])
    for row in chain(first, report.rows):
        sheet.append([_cell(sheet, cell) for cell in row])
    sheet.auto_filter.ref = f"A1:{get_column_letter(len(report.header))}{report.count + 1}"


def _set_widths(sheet: WriteOnlyWorksheet, lines: Sequence[Sequence[object]]) -> None:
    """Keep the header in sight, and make each column as wide as its content, within bounds."""
    sheet.freeze_panes = "A2"
    for number, cells in enumerate(zip(*lines, strict=True), 1):
        letters = max(len(str(cell)) for cell in cells if cell is not None)
        width = min(max(letters + _ARROW_LETTERS, _LEAST_LETTERS), _MOST_LETTERS) + 1
        sheet.column_dimensions[get_column_letter(number)].width = width


def _cell(sheet: WriteOnlyWorksheet, value: object, *, is_bold: bool = False) -> object:
    """Return a cell for a value; a text stays one, whatever it looks like, and is read again as it was."""
    match value:
        case None | bool():
            return value
        case datetime():
            cell = WriteOnlyCell(sheet, value.astimezone(UTC).replace(tzinfo=None))  # a spreadsheet knows no zone
            cell.number_format = "yyyy-mm-dd hh:mm:ss"
        case int():
            cell = WriteOnlyCell(sheet, value)
        case _:
            cell = WriteOnlyCell(sheet, _ESCAPED.sub("_x005F_", printable(str(value)))[:_CELL_LETTERS])
            cell.data_type = "s"
    if is_bold:
        cell.font = _BOLD
    return cell
