"""`proofsweep query`: ask a results store in SQL; the answer is a table for people, CSV or JSON."""

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from itertools import islice

import duckdb
import pyarrow as pa
import typer
from rich.cells import cell_len

from proofsweep.config.notices import say
from proofsweep.domain.errors import UsageError
from proofsweep.domain.text import counted, printable, shown_value, text_of_file
from proofsweep.queries.connection import opened
from proofsweep.queries.plain_values import PlainAnswer, plain_answer
from proofsweep_cli.command import CommandRequest, with_request
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.screen import Screen, console, print_csv, print_json_array, styled

_SHOWN_ROWS = 200
_GAP = "  "


class Format(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"


@with_request(without="as_json")
def query(
    request: CommandRequest,
    sql: str | None = typer.Argument(
        None, metavar="[SQL]", help="One or more statements; `-`, or what is piped in, reads them from stdin."
    ),
    *,
    form: Format = typer.Option(Format.TABLE, "--format", "-f", help="How the answer is written."),
    environment: str | None = typer.Option(
        None, "--environment", "-e", metavar="NAME", help="The environment to show, or all; that of the config."
    ),
) -> int:
    """The views: verdicts, runs, exchanges and ingest are the tables. catalog has a row for each item as it stands, and
    latest_answer for each item with an answer. changes is what each run found otherwise than before, and why. rejects
    is what needs attention now. Each tag of the catalogs is a column of these. coverage counts each catalog.
    docs/cookbook.md has twenty questions with their SQL.

    Examples: `proofsweep query "SELECT file, what_to_do FROM rejects ORDER BY file"` ·
    `proofsweep query --format csv < weekly.sql > weekly.csv`
    """
    app = request.app
    if sql == "-" or (sql is None and not sys.stdin.isatty()):
        sql = _query_of_stdin()
    if not sql or not sql.strip():
        raise UsageError('Give a query, for example: proofsweep query "FROM rejects"')
    with opened(app.results, environment, preferred=app.environment, asked=sql, note=say) as connection:
        _answer(connection, sql, form)
    return ExitCode.ACCEPTED


def _query_of_stdin() -> str:
    try:
        return text_of_file(sys.stdin.buffer.read())
    except UnicodeDecodeError as error:
        raise UsageError("The query on stdin is not UTF-8: save it so.") from error


def _answer(connection: duckdb.DuckDBPyConnection, statements: str, form: Format) -> None:
    """Answer in another thread: DuckDB does not hear Ctrl-C in this one while it works."""
    try:
        with ThreadPoolExecutor(1) as thread:
            answer = thread.submit(lambda: _write(connection.sql(statements), form))
            try:
                answer.result()
            except KeyboardInterrupt:
                connection.interrupt()
                raise
    except (duckdb.Error, pa.ArrowException) as mistake:
        # The rest is the text itself, with a mark below: on one line it says nothing.
        reason, _, _ = str(mistake).partition("\nLINE ")
        line = " ".join(reason.split())
        raise UsageError(f"The query cannot be answered: {line}") from mistake


def _write(relation: duckdb.DuckDBPyRelation | None, form: Format) -> None:
    """Write an answer to stdout; None is the answer of a statement that gives no rows."""
    if relation is None:
        return
    answer = plain_answer(relation)
    match form:
        case Format.TABLE:
            _show(answer)
        case Format.CSV:
            print_csv(answer.names, answer.rows)
        case Format.JSON:
            keys = answer.keys
            print_json_array(dict(zip(keys, row, strict=True)) for row in answer.rows)


def _show(answer: PlainAnswer) -> None:
    """Print a table; where it is wider than the terminal, print each row with one field a line."""
    names = list(map(printable, answer.names))
    lines = []
    for row in islice(answer.rows, _SHOWN_ROWS):
        cells = [printable(shown_value(value)) for value in row]
        lines.append(cells)
    # The other rows are counted, not kept: an answer may have more than fit into memory.
    others = sum(1 for _ in answer.rows)
    widths = [max(map(cell_len, column)) for column in zip(names, *lines, strict=True)]
    gaps = len(_GAP) * (len(widths) - 1)
    out = console()
    # A folded cell is read by nobody: at forty columns a table of ten would have four letters for each.
    if sys.stdout.isatty() and sum(widths) + gaps > out.width:
        _print_fields(out, names, lines)
    else:
        columns = list(zip(widths, answer.are_numbers, strict=True))
        _print_table(out, names, lines, columns)
    count = counted(len(lines) + others, "row")
    more = f"; the first {_SHOWN_ROWS} are shown, --format csv gives all" if others else ""
    out.line(f"{count}{more}", style="dim")


def _print_table(
    out: Screen, names: Sequence[str], lines: Sequence[Sequence[str]], columns: Sequence[tuple[int, bool]]
) -> None:
    for number, line in enumerate([names, *lines]):
        cells = []
        for cell, (width, is_number) in zip(line, columns, strict=True):
            blanks = " " * (width - cell_len(cell))
            aligned = blanks + cell if is_number else cell + blanks
            cells.append(aligned)
        text = _GAP.join(cells).rstrip()
        style = "" if number else "bold"
        out.line(styled(text, style))


def _print_fields(out: Screen, names: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    width = max(map(cell_len, names))
    value_column = width + len(_GAP)
    for number, line in enumerate(lines, 1):
        out.line(styled(f"row {number}", "bold"))
        for name, cell in zip(names, line, strict=True):
            blanks = " " * (value_column - cell_len(name))
            field = f"{name}{blanks}{cell}"
            out.line(field.rstrip(), column=value_column)
