"""`proofsweep query`: ask a results store in SQL; the answer is a table for people, CSV, JSON or Parquet."""

import csv
import json
import sys
from codecs import getwriter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import IO

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import typer

from proofsweep.config.local_files import new_file
from proofsweep.domain.errors import UsageError
from proofsweep.domain.text import counted, printable
from proofsweep.queries.connection import OpenStore, opened
from proofsweep_cli.command import open_app
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import Config, ResultsUrl
from proofsweep_cli.screen import console, json_array, print_error, table

_SHOWN_ROWS = 200
_BATCH_ROWS = 10_000


class Format(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def query(
    sql: str | None = typer.Argument(
        None, metavar="[SQL]", help="One or more statements; `-`, or what is piped in, reads them from stdin."
    ),
    *,
    script: Path | None = typer.Option(None, "--from", metavar="FILE", help="Read the statements from this file."),
    form: Format | None = typer.Option(
        None, "--format", "-f", help="How the answer is written; as the ending of --file says, else as a table."
    ),
    file: Path | None = typer.Option(
        None, "--file", "-o", metavar="FILE", help="Write the answer to this file, which must not exist."
    ),
    environment: str | None = typer.Option(
        None, "--environment", "-e", metavar="NAME", help="The environment to show, or all; that of the config."
    ),
    results: str | None = ResultsUrl,
    config: str | None = Config,
) -> int:
    """Ask the results store in SQL, with DuckDB.

    The views: verdicts, runs, exchanges and ingest are the tables. catalog has a row for each item as it stands, and
    latest_answer for each item with an answer. changes is what each run found otherwise than before, and why. rejects
    is what needs attention now. Each tag of the catalogs is a column of these. coverage counts each catalog.
    docs/cookbook.md has twenty questions with their SQL.

    Examples: `proofsweep query "SELECT file, what_to_do FROM rejects ORDER BY file"` ·
    `proofsweep query --from weekly.sql --file weekly.csv`
    """
    ending = file.suffix.removeprefix(".").lower() if file else ""
    as_format = form or (Format(ending) if ending in set(Format) else Format.TABLE)
    app = open_app(config, results)
    statements = _statements(sql, script)
    with opened(app.results, environment, preferred=app.environment, asked=statements) as views_of:
        if views_of.others:
            shown, others = views_of.environments[0], ", ".join(views_of.others)
            print_error(f"The views show {shown}; the store also has {others} (--environment).")
        _answer(views_of, statements, as_format, file)
    return ExitCode.ACCEPTED


def _statements(sql: str | None, script: Path | None) -> str:
    if script is not None:
        if sql is not None:
            raise UsageError("Give the statements as an argument or with --from, not both.")
        try:
            sql = script.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
            raise UsageError(f"{printable(str(script))} cannot be read: {reason}.") from error
    elif sql == "-" or (sql is None and not sys.stdin.isatty()):
        sql = sys.stdin.read()
    if not sql or not sql.strip():
        raise UsageError('Give a query, for example: proofsweep query "FROM rejects"')
    return sql


def _answer(store: OpenStore, statements: str, as_format: Format, file: Path | None) -> None:
    """Answer in another thread: DuckDB does not hear Ctrl-C in this one while it works."""
    try:
        with ThreadPoolExecutor(1) as thread:
            answer = thread.submit(lambda: write(store.connection.sql(statements), as_format, file))
            try:
                answer.result()
            except KeyboardInterrupt:
                store.connection.interrupt()
                raise
    except (duckdb.Error, pa.ArrowException) as mistake:
        reason, _, _ = str(mistake).partition("\nLINE ")  # then comes the text itself, with a mark below
        raise UsageError(f"The query cannot be answered: {' '.join(reason.split())}") from mistake


def write(answer: duckdb.DuckDBPyRelation | None, as_format: Format, file: Path | None) -> None:
    """Write an answer to a file, or to stdout; None is the answer of a statement that gives no rows.

    UsageError if the file cannot be written or exists, or Parquet would go to a terminal.
    """
    if answer is None:
        return
    if as_format is Format.TABLE and file is None:
        _show(answer)
        return
    if as_format is Format.TABLE:
        raise UsageError("A table is for the terminal; give --format csv, json or parquet with --file.")
    if as_format is Format.PARQUET and file is None and sys.stdout.isatty():
        raise UsageError("Parquet is no text for a terminal; give --file FILE.")
    rows = answer.to_arrow_reader(_BATCH_ROWS)
    with new_file(file) if file else _stdout() as out:
        _WRITERS[as_format](rows, out)


def _show(answer: duckdb.DuckDBPyRelation) -> None:
    rows = answer.to_arrow_reader(_BATCH_ROWS)
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


def _csv(rows: pa.RecordBatchReader, out: IO[bytes]) -> None:
    writer = csv.writer(getwriter("utf-8")(out, "replace"), lineterminator="\n")  # as other tools of a pipe expect
    writer.writerow(rows.schema.names)
    writer.writerows([None if cell is None else _text(cell) for cell in row] for row in _rows(rows))


def _json(rows: pa.RecordBatchReader, out: IO[bytes]) -> None:
    objects = (dict(zip(rows.schema.names, row, strict=True)) for row in _rows(rows))
    texts = (json.dumps(each, default=_json_cell, ensure_ascii=False) for each in objects)
    out.writelines(line.encode("utf-8", "replace") for line in json_array(texts))


def _parquet(rows: pa.RecordBatchReader, out: IO[bytes]) -> None:
    with pq.ParquetWriter(out, rows.schema, compression="zstd") as writer:
        for batch in rows:
            writer.write_batch(batch)


_WRITERS = {Format.CSV: _csv, Format.JSON: _json, Format.PARQUET: _parquet}


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


@contextmanager
def _stdout() -> Iterator[IO[bytes]]:
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()
