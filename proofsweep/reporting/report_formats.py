"""Write a completion report as CSV, which can be verified again, or as a workbook for a spreadsheet."""

import csv
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from xlsxwriter import Workbook  # type: ignore[import-untyped]  # it has none
from xlsxwriter.worksheet import Worksheet  # type: ignore[import-untyped]  # the same

from proofsweep.domain.completion_report import COLUMNS, defused
from proofsweep.errors import UsageError
from proofsweep.printable import printable
from proofsweep.reporting.grouped_rows import ReportRow

_LOCATIONS = ("audio", "sidecar", "id")
_INSTANT = COLUMNS.index("finished_at")
_SHEET_ROWS = 1_048_576  # a spreadsheet has no more, the header included
_WIDTHS = {"audio": 60, "sidecar": 30, "id": 34, "what_to_do": 60, "detail": 60, "finished_at": 20}
_OTHER_WIDTH = 16


def write_csv(path: Path, tags: Sequence[str], own: Sequence[str], rows: Iterator[ReportRow]) -> None:
    """Write a manifest with the rows' exact locations; what a spreadsheet would run as a formula is defused.

    The mark at its start tells spreadsheets that it is UTF-8.
    """
    with path.open("x", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(map(defused, (*_LOCATIONS, *tags, *own)))
        for row in rows:
            lines.writerow([_text_of(cell) for cell in _cells(row, tags)])


def write_xlsx(path: Path, tags: Sequence[str], own: Sequence[str], rows: Iterator[ReportRow]) -> None:
    """Write a workbook with one sheet: a frozen header, real dates in UTC, and text that is never a formula.

    Raises:
        UsageError: there are more rows than a sheet holds.
    """
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with Workbook(str(path), options) as book:
        bold = book.add_format({"bold": True})
        instant = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        sheet = book.add_worksheet("report")
        header = [*_LOCATIONS, *tags, *own]
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
                if column == len(header) - len(COLUMNS) + _INSTANT and cell is not None:
                    sheet.write_datetime(number, column, _naive_utc(str(cell)), instant)
                else:
                    _write_cell(sheet, number, column, cell)
        sheet.autofilter(0, 0, number, len(header) - 1)


def _cells(row: ReportRow, tags: Sequence[str]) -> list[object]:
    return [*row.locations, *(row.tags.get(name) for name in tags), *row.own]


def _text_of(cell: object) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    return "" if cell is None else defused(str(cell))


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


def _naive_utc(text: str) -> datetime:
    """Give an instant as a spreadsheet knows it: without a zone."""
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)
