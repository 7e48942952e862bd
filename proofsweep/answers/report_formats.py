"""Write a completion report as CSV, which can be verified again, or as a workbook for a spreadsheet."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BufferedWriter, FileIO
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import clear_frames
from typing import IO, Any

from xlsxwriter import Workbook  # type: ignore[import-untyped]  # it has none
from xlsxwriter.exceptions import FileCreateError  # type: ignore[import-untyped]  # the same
from xlsxwriter.worksheet import Worksheet  # type: ignore[import-untyped]  # the same

from proofsweep.errors import UsageError
from proofsweep.model.completion_report import defused
from proofsweep.model.tags import unified
from proofsweep.text import printable

# Chosen: rows in memory before they go to disk, some 5 MB.
_WAITING_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One row: its locations and id, its tags, and the report's own cells."""

    locations: Sequence[str | None]
    tags: Mapping[str, str]
    own: Sequence[object]


class GroupedRows:
    """Takes rows in any order, and gives those of one group in the order in which they came.

    Attributes:
        counts: rows by group.
        tag_names: of each group the names of its tags, in the order in which they came, each in one spelling.
    """

    def __init__(self, folder: Path) -> None:
        self.counts: Counter[str] = Counter()
        self.tag_names: dict[str, dict[str, None]] = defaultdict(dict)
        self._spellings: dict[str, str] = {}
        self._folder = folder
        self._numbers: dict[str, int] = {}
        self._waiting: dict[str, list[str]] = defaultdict(list)
        self._waiting_rows = 0

    def add(self, group: str, row: ReportRow) -> None:
        """Take a row."""
        self.counts[group] += 1
        tags = unified(row.tags, self._spellings)
        self.tag_names[group].update(dict.fromkeys(tags))
        self._waiting[group].append(json.dumps([row.locations, tags, row.own], default=_plain_text_of))
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


_LOCATIONS = ("audio", "sidecar", "id")
# A cell with one of these is quoted: some spreadsheets cut at semicolons, tabs and bars too.
_CUTS = re.compile(r'[",;|\t\r\n]')
_SHEET_ROWS = 1_048_576  # a spreadsheet has no more, the header included
_WIDTHS = {"audio": 60, "sidecar": 30, "id": 34, "what_to_do": 60, "detail": 60, "finished_at": 20}
_OTHER_WIDTH = 16


def write_csv(path: Path, tags: Sequence[str], own: Sequence[str], rows: Iterator[ReportRow]) -> None:
    """Write a manifest with the rows' exact locations; what a spreadsheet would run as a formula is defused.

    The mark at its start tells spreadsheets that it is UTF-8.
    """
    with path.open("x", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        for cells in chain([(*_LOCATIONS, *tags, *own)], (_cells(row, tags) for row in rows)):
            file.write(",".join(map(_text_of, cells)) + "\r\n")


def write_xlsx(path: Path, tags: Sequence[str], own: Sequence[str], rows: Iterator[ReportRow]) -> None:
    """Write a workbook with one sheet: a frozen header, real dates in UTC, and text that is never a formula.

    UsageError if there are more rows than a sheet holds; OSError if it cannot be written.
    """
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with (
        TemporaryDirectory(prefix="proofsweep-") as folder,
        _whole(path) as out,
        Workbook(out, options | {"tmpdir": folder}) as book,
    ):
        bold = book.add_format({"bold": True})
        instant = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        sheet = book.add_worksheet("report")
        header = [*_LOCATIONS, *tags, *own]
        instants = len(header) - 1 - header[::-1].index("finished_at")  # a tag of that name stands before
        sheet.freeze_panes(1, 0)
        for column, name in enumerate(header):
            sheet.set_column(column, column, _WIDTHS.get(name, _OTHER_WIDTH))
            sheet.write_string(0, column, printable(name), bold)
        number = 0
        for number, row in enumerate(rows, start=1):
            if number == _SHEET_ROWS:
                raise UsageError(f"A sheet holds at most {_SHEET_ROWS - 1:,} rows: take --format csv, or --by TAG.")
            cells = _cells(row, tags)
            for column, cell in enumerate(cells):
                if column == instants and cell is not None:
                    moment = datetime.fromisoformat(str(cell)).astimezone(UTC)  # a spreadsheet knows no zone
                    sheet.write_datetime(number, column, moment.replace(tzinfo=None), instant)
                else:
                    _write_cell(sheet, number, column, cell)
        sheet.autofilter(0, 0, number, len(header) - 1)


class _Draft(FileIO):
    """A new file that keeps its first failure: a broken zip archive writes once more when it is collected."""

    failure: OSError | None = None

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - any buffer: Python 3.12 has a type for them
        """Write, or keep why not."""
        try:
            return super().write(data) if self.failure is None else memoryview(data).nbytes
        except OSError as error:
            self.failure = error
            return memoryview(data).nbytes


@contextmanager
def _whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file for a workbook, and raise what hindered the writing when the workbook is closed."""
    draft = _Draft(path, "x")
    with BufferedWriter(draft) as out:
        try:
            yield out
        except FileCreateError as error:  # of a temporary file: it holds the error of the system
            clear_frames(error.args[0].__traceback__)  # they hold the archive, which ends itself while its file is open
            raise error.args[0] from error
    if draft.failure is not None:
        raise draft.failure


def _cells(row: ReportRow, tags: Sequence[str]) -> list[object]:
    return [*row.locations, *(row.tags.get(name) for name in tags), *row.own]


def _text_of(cell: object) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    text = "" if cell is None else defused(str(cell))
    return '"' + text.replace('"', '""') + '"' if _CUTS.search(text) else text


def _write_cell(sheet: Worksheet, row: int, column: int, cell: object) -> None:
    match cell:
        case None:
            pass
        case bool():
            sheet.write_boolean(row, column, cell)
        case int():
            sheet.write_number(row, column, cell)
        case _:
            sheet.write_string(row, column, printable(str(cell)))
