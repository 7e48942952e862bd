"""`proofsweep query`: ask a results store in SQL; the answer is a table for people, CSV or JSON."""

import csv
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal
from enum import StrEnum

import duckdb
import pyarrow as pa
import typer

from proofsweep.domain.errors import UsageError
from proofsweep.domain.text import counted, text_of_file
from proofsweep.queries.connection import opened
from proofsweep_cli.command import CommandRequest, with_request
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.screen import console, flush, json_array, table

_SHOWN_ROWS = 200
_BATCH_ROWS = 10_000


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
        try:
            sql = text_of_file(sys.stdin.buffer.read())
        except UnicodeDecodeError as error:
            raise UsageError("The query on stdin is not UTF-8: save it so.") from error
    if not sql or not sql.strip():
        raise UsageError('Give a query, for example: proofsweep query "FROM rejects"')
    with opened(app.results, environment, preferred=app.environment, asked=sql) as views_of:
        _answer(views_of, sql, form)
    return ExitCode.ACCEPTED


def _answer(views_of: duckdb.DuckDBPyConnection, statements: str, form: Format) -> None:
    """Answer in another thread: DuckDB does not hear Ctrl-C in this one while it works."""
    try:
        with ThreadPoolExecutor(1) as thread:
            answer = thread.submit(lambda: _write(views_of.sql(statements), form))
            try:
                answer.result()
            except KeyboardInterrupt:
                views_of.interrupt()
                raise
    except (duckdb.Error, pa.ArrowException) as mistake:
        reason, _, _ = str(mistake).partition("\nLINE ")  # then comes the text itself, with a mark below
        raise UsageError(f"The query cannot be answered: {' '.join(reason.split())}") from mistake


def _write(answer: duckdb.DuckDBPyRelation | None, form: Format) -> None:
    """Write an answer to stdout; None is the answer of a statement that gives no rows."""
    if answer is None:
        return
    rows = answer.to_arrow_reader(_BATCH_ROWS)
    if form is Format.TABLE:
        _show(rows)
        return
    with suppress(BrokenPipeError):
        if form is Format.CSV:
            writer = csv.writer(sys.stdout, lineterminator="\n")  # as other tools of a pipe expect
            writer.writerow(rows.schema.names)
            writer.writerows([None if cell is None else _text(cell) for cell in row] for row in _rows(rows))
        else:
            objects = (dict(zip(rows.schema.names, row, strict=True)) for row in _rows(rows))
            texts = (json.dumps(each, default=_json_cell, ensure_ascii=False) for each in objects)
            sys.stdout.writelines(json_array(texts))
    flush()


def _show(rows: pa.RecordBatchReader) -> None:
    shown, count = table(), 0
    for field in rows.schema:
        is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        shown.add_column(field.name, justify="right" if is_number else "left", overflow="fold")
    for row in _rows(rows):
        if count < _SHOWN_ROWS:
            shown.add_row(*("" if cell is None else _text(cell) for cell in row))
        count += 1
    out = console()
    out.print(shown)
    more = f"; the first {_SHOWN_ROWS} are shown, --format csv gives all" if count > _SHOWN_ROWS else ""
    out.print(f"{counted(count, 'row')}{more}", style="dim")


def _rows(batches: pa.RecordBatchReader) -> Iterator[tuple[object, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _json_cell(cell: object) -> object:
    """Return a count as a number: DuckDB adds whole numbers up in a type that Arrow has as a decimal."""
    return int(cell) if isinstance(cell, Decimal) and cell.as_tuple().exponent == 0 else _text(cell)


def _text(cell: object) -> str:
    isoformat = getattr(cell, "isoformat", None)
    if isinstance(cell, dict | list):
        return json.dumps(cell, default=_text, ensure_ascii=False)
    return str(cell) if isoformat is None else str(isoformat())
