"""Read a manifest of any format as a stream of records: the column names, and one cell for each."""

import codecs
import csv
import errno
import gzip
import json
import os
import posixpath
import re
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from io import BufferedReader, TextIOWrapper
from tempfile import TemporaryFile
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from proofsweep.errors import CatalogError, SourceError
from proofsweep.storage.files.buffered import buffered
from proofsweep.storage.files.local_files import LocalFiles
from proofsweep.storage.files.source import Source
from proofsweep.storage.locations import one_line

Record = tuple[tuple[str, ...], Sequence[str]]
"""Column names, and as many cells; an absent or null value is an empty text."""

_PackedOrPlain = gzip.GzipFile | BufferedReader
_GZIP = b"\x1f\x8b"
_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DELIMITERS = ",;\t"
# chosen: rows of a Parquet manifest in memory at once, a few MiB; half or twice changes only that.
_BATCH_ROWS = 8192
_LOCAL = LocalFiles()
_BROKEN = (OSError, EOFError, zlib.error, ValueError, RecursionError, pa.ArrowException)


def is_manifest_name(path: str) -> bool:
    """Say whether the name ends as that of a manifest does."""
    return _suffix_of(path) in _READERS


def records_of(path: str, source: Source = _LOCAL) -> Iterator[Record]:
    """Read a manifest from its start, compressed with gzip or not.

    Raises:
        CatalogError: one line that names the line of the file if there is one; possibly after many good records.
    """
    read = _READERS[_suffix_of(path)]
    try:
        file = source.open(path)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        with buffered(file) as plain:
            if plain.peek(len(_GZIP)).startswith(_GZIP):
                with gzip.GzipFile(fileobj=plain) as unpacked:
                    yield from read(unpacked)
            else:
                yield from read(plain)
    except SourceError as error:
        raise CatalogError(f"{one_line(path)}: cannot be read as a manifest. {error.message}") from error
    except _BROKEN as error:
        because = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise CatalogError(f"{one_line(path)}: cannot be read as a manifest: {one_line(because)}") from error


def _delimited(file: _PackedOrPlain) -> Iterator[Record]:
    header: tuple[str, ...] = ()
    with _text(file) as text:
        for number, cells in _lines_of(text):
            if not header:
                header = tuple(cells)
            elif len(cells) > len(header):
                raise ValueError(f"line {number} has {len(cells)} cells, the header {len(header)}")
            else:
                yield header, cells + [""] * (len(header) - len(cells))


def _lines_of(text: TextIOWrapper) -> Iterator[tuple[int, list[str]]]:
    """Give each line's number and cells, without blank lines; a record of several lines has the number of its last."""
    first = next((line for line in text if line.strip()), "")
    text.seek(0)
    reader = csv.reader(text, delimiter=_delimiter_of(first), strict=True)
    try:
        for cells in reader:
            if len(cells) > 1 or "".join(cells).strip():
                yield reader.line_num, cells
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from error


def _delimiter_of(header: str) -> str:
    return max(_DELIMITERS, key=re.sub(r'"[^"]*"', "", header).count)


def _json_lines(file: _PackedOrPlain) -> Iterator[Record]:
    with _text(file) as text:
        for number, line in enumerate(text, start=1):
            if line.strip():
                record = _json_object(line, number)
                yield tuple(record), [_cell(value) for value in record.values()]


def _json_object(line: str, number: int) -> dict[str, object]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {number} is no JSON: {error}") from error
    if not isinstance(record, dict):
        raise ValueError(f"line {number} is no JSON object")  # noqa: TRY004 -- the file is wrong, not the call
    return record


def _parquet(file: _PackedOrPlain) -> Iterator[Record]:
    with TemporaryFile() as unpacked:
        table = pq.ParquetFile(_unpack(file, unpacked) if isinstance(file, gzip.GzipFile) else file)
        for batch in table.iter_batches(batch_size=_BATCH_ROWS):
            names = tuple(batch.schema.names)
            columns = [map(_cell, column.to_pylist()) for column in batch.columns]
            for cells in zip(*columns, strict=True):
                yield names, cells


def _unpack(packed: gzip.GzipFile, into: IO[bytes]) -> IO[bytes]:
    """Decompress to disk, since Parquet is read from its end."""
    shutil.copyfileobj(packed, into)
    into.seek(0)
    return into


def _text(file: _PackedOrPlain) -> TextIOWrapper:
    """Decode UTF-8, and keep bytes that are none, as file names do."""
    start = file.peek(4)[:4]
    if b"\0" in start or start.startswith(_UTF_16_MARKS):
        raise ValueError("it looks like UTF-16; save it as UTF-8")
    return TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case bytes():
            return os.fsdecode(value)
        case bool() | int() | float() | list() | dict():
            return json.dumps(value, ensure_ascii=False, default=str)
        case _:
            return str(value)


def _suffix_of(path: str) -> str:
    return posixpath.splitext(path.lower().removesuffix(".gz"))[1]


_READERS: dict[str, Callable[[_PackedOrPlain], Iterator[Record]]] = {
    ".csv": _delimited,
    ".tsv": _delimited,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": _parquet,
}
