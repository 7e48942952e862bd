"""Read a manifest of any format as a stream of records: the column names, and one cell for each."""

import errno
import gzip
import json
import os
import posixpath
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, TextIOWrapper
from itertools import chain, count, dropwhile, islice
from shlex import quote
from tempfile import TemporaryFile
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from proofsweep.config.locations import one_line
from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.sources.columns import CALCULATE, Columns, Formula, cell_text
from proofsweep.sources.delimited_text import HEADER_ROWS, Row, delimited_rows
from proofsweep.sources.encodings import Encoding, encoding_of
from proofsweep.sources.local_files import LocalFiles
from proofsweep.sources.names import is_audio_name
from proofsweep.sources.other_files import HEADER_BYTES, words_for
from proofsweep.sources.source import OpenFile, Source, buffered

Record = tuple[int, tuple[str, ...], Sequence[str]]
"""The first line, or the row's number in Parquet and workbooks, column names, and as many cells; null is empty."""

Note = Callable[[bytes], object]
"""Takes bytes, as `update` of hashlib's objects does."""

_PackedOrPlain = gzip.GzipFile | BufferedReader
_GZIP = b"\x1f\x8b"
_BATCH_ROWS = 8192
_PIECE_BYTES = 1024 * 1024
_LOCAL = LocalFiles()
_BROKEN = (OSError, EOFError, zlib.error, ValueError, OverflowError, RecursionError, pa.ArrowException)


@dataclass(frozen=True, slots=True)
class ReadAs:
    """How a manifest is to be read; None stands for what it shows itself."""

    encoding: Encoding | None = None
    sheet: str | None = None
    header_row: int | None = None
    is_header: Callable[[Sequence[str]], bool] = bool  # says whether cells are the names of the columns
    remark: Callable[[str], object] = str  # takes what a person should know of a line
    told: Callable[[str], object] = str  # takes the delimiter


def is_manifest_name(path: str) -> bool:
    return _suffix_of(path) in _READERS


def has_one_header(path: str) -> bool:
    return _READERS.get(_suffix_of(path)) is not _json_lines


def refuse_unknown_columns(path: str, header: Sequence[str], cells: Sequence[str], columns: Columns) -> None:
    """Raise CatalogError if a manifest, by its first record, has no column of audio, or lacks one that was named."""
    if columns.audio is not None and not (columns.unknown and has_one_header(path)):
        return
    wanted = one_line(" or ".join(columns.unknown) or "audio or path")
    found = one_line(", ".join(header))
    alike = next((name for name, cell in zip(header, cells, strict=True) if is_audio_name(cell.strip())), "NAME")
    hint = "" if columns.unknown else f" (if one of them is the audio, give --column audio={quote(one_line(alike))})"
    hint += "; if they are no names of columns, give --header-row N" if has_one_header(path) else ""
    raise CatalogError(f"{one_line(path)}: no column is named {wanted}; the columns are: {found}{hint}")


def manifest_words(path: str) -> str:
    """Name a manifest for a person, up to the number of a record in it."""
    return f"{one_line(posixpath.basename(path))}, {'line' if _is_text(path) else 'row'}"


def encoding_of_manifest(path: str, source: Source = _LOCAL, given: Encoding | None = None) -> Encoding | None:
    """Return how a manifest is encoded: as was `given`, else as its bytes say; None if its format is no text."""
    if not _is_text(path):
        return None
    if given is not None:
        return given
    with _opened(path, source) as (_, plain), _unpacked(plain) as unpacked:
        return encoding_of(unpacked)


def records_of(
    path: str, source: Source = _LOCAL, note: Note | None = None, read_as: ReadAs | None = None
) -> Iterator[Record]:
    """Read a manifest, compressed with gzip or not; `note` takes its bytes before the first record is given.

    CatalogError, possibly after many good records, names the line if there is one, or says that the file changed.
    """
    with _opened(path, source) as (file, plain):
        before = file.facts()
        try:
            if note is not None:
                _note_all(plain, note)
            with _unpacked(plain) as unpacked:
                yield from _READERS[_suffix_of(path)](unpacked, read_as or ReadAs())
        except _BROKEN:
            _refuse_changed(file, before)  # then what is broken may only be half written
            raise
        _refuse_changed(file, before)


def note_bytes(path: str, source: Source, note: Note) -> None:
    """Have the bytes of a manifest noted, whatever they mean; CatalogError if it cannot be read, or changes."""
    with _opened(path, source) as (file, plain):
        before = file.facts()
        _note_all(plain, note)
        _refuse_changed(file, before)


def _note_all(plain: BufferedReader, note: Note) -> None:
    while piece := plain.read(_PIECE_BYTES):
        note(piece)
    plain.seek(0)


@contextmanager
def _opened(path: str, source: Source) -> Iterator[tuple[OpenFile, BufferedReader]]:
    """Open a manifest; whatever is wrong with it is a CatalogError of one line."""
    try:
        file = source.open(path)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        with buffered(file) as plain:
            yield file, plain
    except SourceError as error:
        raise CatalogError(f"{one_line(path)}: cannot be read as a manifest. {error.message}") from error
    except _BROKEN as error:
        because = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise CatalogError(f"{one_line(path)}: cannot be read as a manifest: {one_line(because)}") from error


@contextmanager
def _unpacked(plain: BufferedReader) -> Iterator[_PackedOrPlain]:
    if plain.peek(len(_GZIP)).startswith(_GZIP):
        with gzip.GzipFile(fileobj=plain) as unpacked:
            yield unpacked
    else:
        yield plain


def _refuse_changed(file: OpenFile, before: FileFacts) -> None:
    if file.facts() != before:
        changed = "It changed while it was read: let its delivery finish, then try again."
        raise SourceError(changed, reason=Reason.SOURCE_CHANGED)


def _delimited(file: _PackedOrPlain, read_as: ReadAs) -> Iterator[Record]:
    with _text(file, read_as.encoding) as text:
        rows = delimited_rows(text, read_as.header_row, read_as.is_header, read_as.remark, read_as.told)
        yield from _below_header(rows, read_as, "line")


def _workbook(file: _PackedOrPlain, read_as: ReadAs) -> Iterator[Record]:
    from proofsweep.sources.workbook import sheet_rows  # noqa: PLC0415 - openpyxl is slow to load

    with _seekable(file) as packed:
        start = packed.read(HEADER_BYTES)
        packed.seek(0)
        if not start.startswith(b"PK") and (words := words_for(start)) is not None:
            raise ValueError(f"it is {words}")
        yield from _below_header(sheet_rows(packed, read_as.sheet), read_as, "row")


def _below_header(rows: Iterator[Row], read_as: ReadAs, word: str) -> Iterator[Record]:
    """Yield what stands below the header: the row that is given, else the first one that has the columns."""
    given, head = read_as.header_row or 0, list[Row]()
    for row in islice(dropwhile(lambda row: row[0] < given, rows), 1 if given else HEADER_ROWS):
        head.append(row)
        if given or read_as.is_header(row[1]):
            head = [row]
            break
    if given and [number for number, _ in head] != [given]:
        raise ValueError(f"{word} {given}, which is to be the header, is empty")
    at = next((at for at, (_, cells) in enumerate(head) if len(cells) - cells.count("") > 1), 0)
    header = tuple(cell for _, cells in head[at : at + 1] for cell in cells)
    if any(isinstance(name, Formula) for name in header):
        raise ValueError(f"{word} {head[at][0]}, the header, holds a formula that was not calculated: {CALCULATE}")
    for number, cells in chain(head[at + 1 :], rows):
        if len(cells) > len(header):
            raise ValueError(f"{word} {number} has {len(cells)} cells, the header {len(header)}")
        yield number, header, cells + [""] * (len(header) - len(cells))


def _json_lines(file: _PackedOrPlain, read_as: ReadAs) -> Iterator[Record]:
    with _text(file, read_as.encoding) as text:
        for number, line in enumerate(text, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError as error:
                raise ValueError(f"line {number} is no JSON: {error}") from error
            if not isinstance(record, dict):
                raise ValueError(f"line {number} is no JSON object")  # noqa: TRY004 -- the file is wrong, not the call
            yield number, tuple(record), [cell_text(value) for value in record.values()]


@contextmanager
def _seekable(file: _PackedOrPlain) -> Iterator[IO[bytes]]:
    if not isinstance(file, gzip.GzipFile):
        yield file
        return
    with TemporaryFile() as unpacked:
        shutil.copyfileobj(file, unpacked)
        unpacked.seek(0)
        yield unpacked


def _parquet(file: _PackedOrPlain, _: ReadAs) -> Iterator[Record]:
    with _seekable(file) as seekable:
        table = pq.ParquetFile(seekable)
        numbers = count(1)
        for batch in table.iter_batches(batch_size=_BATCH_ROWS):
            names = tuple(batch.schema.names)
            for cells in zip(*(_texts(batch, at) for at in range(len(names))), strict=True):
                yield next(numbers), names, cells


def _texts(batch: pa.RecordBatch, at: int) -> Iterator[str]:
    column = batch.column(at)
    try:
        return map(cell_text, column.to_pylist())
    except (ValueError, OverflowError):  # Python has no such value, as a date in the year 20000
        return map(cell_text, column.cast(pa.string()).to_pylist())


@contextmanager
def _text(file: _PackedOrPlain, encoding: Encoding | None) -> Iterator[TextIOWrapper]:
    if (words := words_for(file.peek(HEADER_BYTES)[:HEADER_BYTES])) is not None:
        raise ValueError(f"it is {words}")
    known = encoding or encoding_of(file)
    text = TextIOWrapper(file, known.codec, errors=known.errors, newline="")
    try:
        yield text
    finally:
        text.detach()


def _is_text(path: str) -> bool:
    return _READERS[_suffix_of(path)] in {_delimited, _json_lines}


def _suffix_of(path: str) -> str:
    return posixpath.splitext(path.lower().removesuffix(".gz"))[1]


_READERS: dict[str, Callable[[_PackedOrPlain, ReadAs], Iterator[Record]]] = {
    ".csv": _delimited,
    ".tsv": _delimited,
    ".txt": _delimited,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": _parquet,
    ".xlsx": _workbook,
    ".xlsm": _workbook,
}
