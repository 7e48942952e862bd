"""`proofsweep plan --list`: every row of a catalog that will not be sent, as it is read."""

from collections.abc import Iterable, Iterator
from itertools import islice

from rich.console import Console
from rich.table import Table

from proofsweep.domain.errors import UsageError
from proofsweep.domain.text import printable
from proofsweep.wiring.runs import UnsentRow
from proofsweep_cli.screen import console, counted, print_csv, print_json_array

_COLUMNS = ("line", "file", "reason", "what_to_do", "detail")
_FORMATS = ("table", "csv", "json")
_ROWS_AT_ONCE = 200


def refuse_unknown_format(form: str) -> None:
    """Raise UsageError if a list cannot be written so."""
    if form not in _FORMATS:
        raise UsageError(f"There is no format {printable(form)!r}; there are {', '.join(_FORMATS)}.")


def print_unsent(rows: Iterable[UnsentRow], form: str) -> None:
    """Print each row with its line, why it will not be sent and what to do."""
    match form:
        case "csv":
            print_csv(_COLUMNS, map(_cells, rows))
        case "json":
            print_json_array(dict(zip(_COLUMNS, _cells(row), strict=True)) for row in rows)
        case _:
            _print_tables(console(), iter(rows))


def _cells(row: UnsentRow) -> list[str]:
    return [row.where, row.file, row.reason, row.what_to_do, row.detail]


def _print_tables(out: Console, rows: Iterator[UnsentRow]) -> None:
    count = 0
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        for name in ("line", "file", "why", "what to do"):
            table.add_column(name, overflow="fold")
        for row in some:
            table.add_row(row.where, row.file, f"{row.reason}: {row.detail}", row.what_to_do)
        out.print(table)
        count += len(some)
    out.print(f"{counted(count, 'row')} will not be sent" if count else "Every row will be sent", style="bold")
