"""A completion report as CSV, which can be verified again, and as a workbook for a spreadsheet."""

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
from xlsxwriter.format import Format  # type: ignore[import-untyped]  # the same
from xlsxwriter.worksheet import Worksheet  # type: ignore[import-untyped]  # the same

from proofsweep.domain.errors import UsageError
from proofsweep.domain.runs import OUTCOMES
from proofsweep.domain.tags import key_of_value, unified
from proofsweep.domain.text import defused, printable, restored
from proofsweep.sources.columns import SHEETS

_WAITING_ROWS = 5_000
_CUTS = re.compile(r'[",;|\t\r\n]')  # quoted: some spreadsheets cut at semicolons, tabs and bars too
_SHEET_ROWS = 1_048_576  # a spreadsheet has no more, the header included
_LEAST_LETTERS, _MOST_LETTERS = 8, 60  # that a column shows
_ARROW_LETTERS = 3  # The arrow of a filter covers so many letters of a header


@dataclass(frozen=True, slots=True)
class ReportRow:
    tags: Mapping[str, str]
    own: Sequence[object]


@dataclass(frozen=True, slots=True)
class CompletionReport:
    tags: Sequence[str]
    own: Sequence[str]  # the names of the report's own columns; the tags stand after the first
    rows: Iterator[ReportRow]
    supplier_tag: str | None = None  # the tag by which totals are counted, if the rows have it

    @property
    def header(self) -> list[str]:
        return [self.own[0], *self.tags, *self.own[1:]]

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


def write_csv(path: Path, report: CompletionReport) -> None:
    """Write a manifest with exact locations, marked as UTF-8; what a spreadsheet would run as a formula is defused."""
    with path.open("x", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        for cells in chain([list[object](report.header)], (report.cells(row) for row in report.rows)):
            file.write(",".join(map(_text_of, cells)) + "\r\n")


def _text_of(cell: object) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    text = "" if cell is None else defused(str(cell))
    return '"' + text.replace('"', '""') + '"' if _CUTS.search(text) else text


def write_xlsx(path: Path, report: CompletionReport) -> None:
    """Write a workbook: frozen headers, filters, dates in UTC, no formulas; UsageError if a sheet is too small."""
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with (
        TemporaryDirectory(prefix="proofsweep-") as folder,
        _whole(path) as out,
        Workbook(out, options | {"tmpdir": folder}) as book,
    ):
        totals, rows = map(book.add_worksheet, SHEETS)
        counts = _write_rows(_WrittenSheet(book, rows), report)
        _write_totals(_WrittenSheet(book, totals), counts, report.supplier_tag)


class _Totals:
    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.advice: Counter[str] = Counter()
        self.suppliers: dict[str, Counter[str]] = {}
        self.spellings: dict[str, str] = {}

    def add(self, outcome: str, what_to_do: str, supplier: str) -> None:
        self.outcomes[outcome] += 1
        key = key_of_value(supplier)
        self.spellings[key] = min(supplier, self.spellings.get(key, supplier))
        self.suppliers.setdefault(key, Counter())[outcome] += 1
        if outcome != "accepted":
            self.advice[what_to_do] += 1


class _WrittenSheet:
    # Each column becomes as wide as its content, within bounds.
    def __init__(self, book: Workbook, sheet: Worksheet) -> None:
        self.sheet = sheet
        self.row = 0
        self._widths: Counter[int] = Counter()
        self.bold, self.instant, self.share = (
            book.add_format(how)
            for how in ({"bold": True}, {"num_format": "yyyy-mm-dd hh:mm:ss"}, {"num_format": "0.0%"})
        )

    def add(self, cells: Sequence[object], style: Format = None, more_letters: int = 0) -> None:
        for column, cell in enumerate(cells):
            letters = self._write(column, cell, style) + more_letters
            self._widths[column] = max(self._widths[column], letters)
        self.row += 1

    def finish(self) -> None:
        for column, letters in self._widths.items():
            self.sheet.set_column(column, column, min(max(letters, _LEAST_LETTERS), _MOST_LETTERS) + 1)

    def _write(self, column: int, cell: object, style: Format) -> int:
        # Returns how many letters the cell shows.
        match cell:
            case None:
                return 0
            case bool():
                self.sheet.write_boolean(self.row, column, cell)
                return len("FALSE")
            case datetime():
                moment = cell.astimezone(UTC).replace(tzinfo=None)  # a spreadsheet knows no zone
                self.sheet.write_datetime(self.row, column, moment, self.instant)
                return len("2026-11-20 10:00:00")
            case int():
                self.sheet.write_number(self.row, column, cell, style)
                return len(str(cell))
            case float():
                self.sheet.write_number(self.row, column, cell, self.share)
                return len("100.0%")
            case _:
                text = printable(str(cell))
                self.sheet.write_string(self.row, column, text if restored(text) == text else defused(text), style)
                return len(text)


def _write_rows(sheet: _WrittenSheet, report: CompletionReport) -> _Totals:
    header, totals = report.header, _Totals()
    place = {name: len(header) - 1 - header[::-1].index(name) for name in report.own}  # tags of such names stand before
    sheet.sheet.freeze_panes(1, 0)
    sheet.add(header, sheet.bold, _ARROW_LETTERS)
    for row in report.rows:
        if sheet.row == _SHEET_ROWS:
            raise UsageError(f"A sheet holds at most {_SHEET_ROWS - 1:,} rows: take --format csv, or --by TAG.")
        cells = report.cells(row)
        finished = cells[place["finished_at"]]
        cells[place["finished_at"]] = None if finished is None else datetime.fromisoformat(str(finished))
        sheet.add(cells)
        supplier = "(none)" if report.supplier_tag is None else row.tags.get(report.supplier_tag, "(none)")
        totals.add(str(cells[place["outcome"]]), str(cells[place["what_to_do"]]), supplier)
    sheet.sheet.autofilter(0, 0, sheet.row - 1, len(header) - 1)
    sheet.finish()
    return totals


def _write_totals(sheet: _WrittenSheet, totals: _Totals, supplier_tag: str | None) -> None:
    sheet.sheet.freeze_panes(1, 0)
    for table in _tables(totals, supplier_tag):
        for number, cells in enumerate(table):
            sheet.add(cells, sheet.bold if number == 0 else None)
        sheet.add([])
    sheet.finish()


def _tables(totals: _Totals, supplier_tag: str | None) -> Iterator[list[list[object]]]:
    there = [outcome for outcome in OUTCOMES if totals.outcomes[outcome]]
    counts: list[list[object]] = [[outcome, totals.outcomes[outcome]] for outcome in there]
    yield [["outcome", "files"], *counts, ["all", totals.outcomes.total()]]
    if totals.advice:
        yield [["what to do", "files"], *([what, files] for what, files in totals.advice.most_common())]
    if supplier_tag is not None:
        header: list[object] = [supplier_tag, "files", "accepted, %", *there]
        most_bad_first = sorted(
            totals.suppliers.items(), key=lambda each: (each[1]["accepted"] - each[1].total(), each[0])
        )
        lines: list[list[object]] = [
            [
                totals.spellings[name],
                counts.total(),
                counts["accepted"] / counts.total(),
                *(counts[outcome] for outcome in there),
            ]
            for name, counts in most_bad_first
        ]
        yield [header, *lines]


class _Draft(FileIO):
    """A new file that keeps its first failure: a broken zip archive writes once more when it is collected."""

    failure: OSError | None = None

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - any buffer: Python 3.12 has a type for them
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
