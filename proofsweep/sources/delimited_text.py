"""Read text that commas, semicolons or tabs cut into cells: which of them it is, and what its quotes mean. Pure."""

import csv
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TextIO

Row = tuple[int, list[str]]
"""The number of a row's first line, from 1, and its cells."""

HEADER_ROWS = 100
"""In so many first rows the header is looked for."""

_DELIMITERS = ",;\t"
_WHOLE_CELL = re.compile(r'"(?:[^"]|"")*"')


def delimited_rows(
    text: TextIO,
    header_row: int | None,
    is_header: Callable[[Sequence[str]], bool],
    remark: Callable[[str], object],
    told: Callable[[str], object],
) -> Iterator[Row]:
    """Yield the rows that are not blank; `remark` is told which may have swallowed others, `told` the delimiter.

    ValueError names the line in which a quote opens that is not closed.
    """
    head = list(islice(text, header_row or HEADER_ROWS))
    text.seek(0)
    first = head[-1:] if header_row else [line for line in head if line.strip()][:1]
    found = [] if header_row else [(row, each) for each in _DELIMITERS for row in _headers(head, each, is_header)]
    at = min((row for row, _ in found), default=0)
    line = "".join(first) if not found else head[at - 1]
    among = [each for row, each in found if row == at] or _DELIMITERS
    delimiter = max(among, key=re.sub(r'"[^"]*"', "", line).count)
    told(delimiter)
    for number, cells in _rows(text, delimiter):
        if any(delimiter in cell and len(cell.splitlines()) > 1 for cell in cells):
            remark(f"line {number}: a cell spans lines and holds the delimiter: is a quote missing?")
        yield number, cells


def _headers(head: Sequence[str], delimiter: str, is_header: Callable[[Sequence[str]], bool]) -> Iterator[int]:
    with suppress(ValueError):  # it is raised again when the rows are read
        yield from (number for number, cells in _rows(head, delimiter) if is_header(cells))


def _rows(lines: Iterable[str], delimiter: str) -> Iterator[Row]:
    """Between tabs, quotes that do not balance are letters, as are those of a cell that would swallow a line."""
    waiting, ahead, number = iter(lines), deque[str](), 1
    while record := list(_taken(waiting, ahead)):
        try:
            cells = _cells(record, waiting, ahead, delimiter)
        except csv.Error as error:
            if delimiter != "\t":
                raise ValueError(_words_for(record, number, error)) from error
            ahead.extendleft(record[:0:-1])
            record = record[:1]
            cells = [
                cell[1:-1].replace('""', '"') if _WHOLE_CELL.fullmatch(cell) else cell
                for cell in record[0].rstrip("\r\n").split(delimiter)
            ]
        if len(cells) > 1 or "".join(cells).strip():
            yield number, cells
        number += len(record)


def _taken(waiting: Iterator[str], ahead: deque[str]) -> Iterator[str]:
    yield from [ahead.popleft()] if ahead else islice(waiting, 1)


def _cells(record: list[str], waiting: Iterator[str], ahead: deque[str], delimiter: str) -> list[str]:
    """Cut a record, which takes further lines while a quote is open; csv.Error if its quotes do not balance."""
    while True:
        try:
            cells = next(csv.reader(["".join(record)], delimiter=delimiter, strict=True))
        except csv.Error as error:
            if "end of data" not in str(error):
                raise
            more = list(_taken(waiting, ahead))
            record += more
            if not more or (delimiter == "\t" and delimiter in more[0].partition('"')[0]):
                raise
        else:
            if delimiter == "\t" and any(delimiter in cell and len(cell.splitlines()) > 1 for cell in cells):
                raise csv.Error("a cell spans lines and holds the delimiter")
            return cells


def _words_for(record: Sequence[str], number: int, error: csv.Error) -> str:
    is_open, opened = False, 0
    for at, line in enumerate(record):
        if line.count('"') % 2:
            is_open, opened = not is_open, opened if is_open else at
    last = "" if len(record) == 1 else f" in line {number + len(record) - 1}"
    remedy = "close the quote that opens here, and write quotes inside of quotes twice"
    return f"line {number + opened}: {remedy} ({error}{last})"
