"""Write the answer to a query: as a table for people, or as CSV, JSON or Parquet."""

import csv
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import IO

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from rich.table import Table

from proofsweep.config.local_files import new_file
from proofsweep.domain.errors import UsageError
from proofsweep_cli.screen import console, counted

_SHOWN_ROWS = 200
_BATCH_ROWS = 10_000


class Format(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


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


def write_text(text: str, file: Path | None) -> None:
    """Write text to a file, or to stdout as it is; UsageError if the file cannot be written or exists."""
    with new_file(file) if file else _stdout() as out:
        out.write(text.encode("utf-8", "replace"))


def _show(answer: duckdb.DuckDBPyRelation) -> None:
    rows = answer.to_arrow_reader(_BATCH_ROWS)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for field in rows.schema:
        is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        table.add_column(field.name, justify="right" if is_number else "left", overflow="fold")
    count = 0
    for row in _rows(rows):
        if count < _SHOWN_ROWS:
            table.add_row(*("" if cell is None else _text(cell) for cell in row))
        count += 1
    out = console()
    out.print(table)
    shown = f"; the first {_SHOWN_ROWS} are shown, --format csv gives all" if count > _SHOWN_ROWS else ""
    out.print(f"{counted(count, 'row')}{shown}", style="dim")


def _csv(rows: pa.RecordBatchReader, out: IO[bytes]) -> None:
    text = _Text(out)
    writer = csv.writer(text, lineterminator="\n")  # as other tools of a pipe expect
    writer.writerow(rows.schema.names)
    writer.writerows([None if cell is None else _text(cell) for cell in row] for row in _rows(rows))


def _json(rows: pa.RecordBatchReader, out: IO[bytes]) -> None:
    """Write one array; an object each line, so that it can be read line by line too."""
    between = "[\n"
    for row in _rows(rows):
        cells = dict(zip(rows.schema.names, row, strict=True))
        out.write((between + json.dumps(cells, default=_json_cell, ensure_ascii=False)).encode("utf-8", "replace"))
        between = ",\n"
    out.write(b"[]\n" if between == "[\n" else b"\n]\n")


def _parquet(rows: pa.RecordBatchReader, out: IO[bytes]) -> None:
    with pq.ParquetWriter(out, rows.schema, compression="zstd") as writer:
        for batch in rows:
            writer.write_batch(batch)


_WRITERS = {Format.CSV: _csv, Format.JSON: _json, Format.PARQUET: _parquet}


class _Text:
    def __init__(self, out: IO[bytes]) -> None:
        self._out = out

    def write(self, text: str) -> None:
        self._out.write(text.encode("utf-8", "replace"))


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
