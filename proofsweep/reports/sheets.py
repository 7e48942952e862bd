"""A completion report as CSV and as a workbook for people, and as JSON and Parquet for programs."""

import errno
import json
import os
import re
from codecs import BOM_UTF8
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
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
from proofsweep.domain.tags import unified
from proofsweep.domain.text import defused, printable

_WAITING_ROWS = 5_000
_CUTS = re.compile(r'[",;|\t\r\n]')  # quoted: some spreadsheets cut at semicolons, tabs and bars too
_SHEET_ROWS = 1_048_576  # a spreadsheet has no more, the header included
_LEAST_LETTERS, _MOST_LETTERS = 8, 60  # that a column shows
_ARROW_LETTERS = 3  # The arrow of a filter covers so many letters of a header
_ESCAPED = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")  # what a spreadsheet would take for the escape of a letter
_NUMBERS = ("http_status", "audio_bytes")
_CELL_LETTERS = 32_767  # a cell has no more
_BOLD = Font(bold=True)


@dataclass(frozen=True, slots=True)
class ReportRow:
    tags: Mapping[str, str]
    own: Sequence[object]


@dataclass(frozen=True, slots=True)
class CompletionReport:
    tags: Sequence[str]
    own: Sequence[str]  # the names of the report's own columns; the tags stand after the first
    rows: Iterator[ReportRow]
    count: int = 0  # of the rows

    @property
    def header(self) -> list[str]:
        return [self.own[0], *self.tags, *self.own[1:]]

    @property
    def names(self) -> list[str]:
        """The header without a name twice: a tag with the name of one of the report's own columns is `tag_<name>`."""
        tags = (f"tag_{name}" if name in self.own else name for name in self.tags)
        return [self.own[0], *tags, *self.own[1:]]

    def cells(self, row: ReportRow) -> list[object]:
        return [row.own[0], *(row.tags.get(name) for name in self.tags), *row.own[1:]]


class GroupedRows:
    """Takes rows in any order, and gives those of one group in the order in which they came."""

    def __init__(self, folder: Path) -> None:
        self.counts: Counter[str] = Counter()
        # In the order in which they came, in one spelling.
        self.tag_names: dict[str, dict[str, None]] = defaultdict(dict)
        self._spellings: dict[str, str] = {}
        self._folder = folder
        self._numbers: dict[str, int] = {}
        self._waiting: dict[str, list[str]] = defaultdict(list)
        self._waiting_rows = 0

    def add(self, group: str, row: ReportRow) -> None:
        self.counts[group] += 1
        tags = unified(row.tags, self._spellings)
        self.tag_names[group].update(dict.fromkeys(tags))
        self._waiting[group].append(json.dumps([tags, row.own], default=_plain_text_of))
        self._waiting_rows += 1
        if self._waiting_rows == _WAITING_ROWS:
            self._flush()

    def rows(self, group: str) -> Iterator[ReportRow]:
        """Yield the rows of a group; instants are ISO text."""
        self._flush()
        with self._file_of(group).open(encoding="ascii") as lines:
            for line in lines:
                yield ReportRow(*json.loads(line))

    def _flush(self) -> None:
        for group, lines in self._waiting.items():
            with self._file_of(group).open("a", encoding="ascii") as file:
                file.writelines(f"{line}\n" for line in lines)
        self._waiting.clear()
        self._waiting_rows = 0

    def _file_of(self, group: str) -> Path:
        return self._folder / str(self._numbers.setdefault(group, len(self._numbers)))


def _plain_text_of(value: object) -> str:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else str(value)


def write_csv(file: IO[bytes], report: CompletionReport) -> None:
    """Write a manifest with exact locations, marked as UTF-8; what a spreadsheet would run as a formula is defused."""
    file.write(BOM_UTF8)
    for cells in chain([list[object](report.header)], (report.cells(row) for row in report.rows)):
        file.write(f"{','.join(map(_text_of, cells))}\r\n".encode("utf-8", "surrogateescape"))


def _text_of(cell: object) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    text = "" if cell is None else defused(str(cell))
    return '"' + text.replace('"', '""') + '"' if _CUTS.search(text) else text


def write_json(file: IO[bytes], report: CompletionReport) -> None:
    """Write one array of objects, each on a line of its own."""
    between = b"[\n"
    for row in report.rows:
        file.write(between + json.dumps(dict(zip(report.names, report.cells(row), strict=True))).encode("ascii"))
        between = b",\n"
    file.write(b"[]\n" if between == b"[\n" else b"\n]\n")


def write_parquet(file: IO[bytes], report: CompletionReport) -> None:
    """Write columns with types; texts that cannot be UTF-8 are escaped."""
    kinds = {"finished_at": pa.timestamp("us", tz="UTC"), **dict.fromkeys(_NUMBERS, pa.int64())}
    schema = pa.schema([pa.field(name, kinds.get(name, pa.string())) for name in report.names])
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while rows := list(islice(report.rows, _WAITING_ROWS)):
            columns = zip(schema, zip(*map(report.cells, rows), strict=True), strict=True)
            cells = {field.name: [_typed(cell, field.type) for cell in column] for field, column in columns}
            writer.write_table(pa.Table.from_pydict(cells, schema=schema))


def _typed(cell: object, kind: pa.DataType) -> object:
    if cell is None or pa.types.is_integer(kind):
        return cell
    return datetime.fromisoformat(str(cell)) if pa.types.is_timestamp(kind) else utf8_text(str(cell))


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
    first = list(islice(report.rows, _WAITING_ROWS))
    _set_widths(sheet, [report.header, *map(report.cells, first)])
    sheet.append([_cell(sheet, cell, is_bold=True) for cell in report.header])
    for row in chain(first, report.rows):
        own = dict(zip(report.own, row.own, strict=True))
        finished = own["finished_at"]
        own["finished_at"] = None if finished is None else datetime.fromisoformat(str(finished))
        sheet.append([_cell(sheet, cell) for cell in report.cells(ReportRow(row.tags, list(own.values())))])
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
