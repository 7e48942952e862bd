"""Read a manifest of any format and encoding, row by row: what its columns are, and one cell for each."""

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache, partial
from io import BufferedIOBase, BufferedReader, TextIOWrapper
from itertools import chain, islice
from tempfile import TemporaryFile
from textwrap import shorten
from typing import IO
from urllib.parse import unquote

import pyarrow as pa

from proofsweep.config.locations import one_line, path_within
from proofsweep.config.sections import USUAL_CATALOG, CatalogSettings
from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.domain.text import marked_codec
from proofsweep.files.files import Files
from proofsweep.files.names import is_audio_name
from proofsweep.files.open_file import OpenFile, buffered
from proofsweep.sources.catalog import ListFacts
from proofsweep.sources.cells import FORMULA, cell_text, date_text, value_of
from proofsweep.sources.columns import Columns
from proofsweep.sources.file_kinds import words_for
from proofsweep.sources.parquet_list import parquet_rows

HEADER_BYTES = 4096  # so many bytes at the start of a file show what it is, and the header of a list
HEADER_ROWS = 100  # in so many first rows the header is looked for

_PIECE_BYTES = 1024 * 1024
_SHOWN_LETTERS = 1_000
_HEADERS_KEPT = 1_000  # JSON lines may each have columns of their own
_GZIP = b"\x1f\x8b"
_TEXT, _JSON, _PARQUET, _WORKBOOK = "text", "JSON lines", "Parquet", "workbook"
_IN_LINES = frozenset({_TEXT, _JSON})  # text in some encoding; the others are read at any place of the file
_WITHOUT_HEADER = frozenset({_JSON})  # each record says its own columns
_WRITTEN_BY_PEOPLE = frozenset({_TEXT, _WORKBOOK})  # totals and notes may stand below the rows
_FORMATS = {
    ".csv": _TEXT,
    ".tsv": _TEXT,
    ".txt": _TEXT,
    ".jsonl": _JSON,
    ".ndjson": _JSON,
    ".parquet": _PARQUET,
    ".xlsx": _WORKBOOK,
    ".xlsm": _WORKBOOK,
}
_BROKEN = (OSError, EOFError, zlib.error, ValueError, OverflowError, RecursionError, pa.ArrowException)
_WESTERN = "cp1252"  # Windows-1252, in which Excel writes CSV in Western Europe
_NOT_WESTERN = frozenset("\udc81\udc8d\udc8f\udc90\udc9d")  # the bytes that it does not define
_DELIMITERS = ",;\t|"
_SAID_DELIMITER = re.compile(r'"?sep=([^"\r\n])"?\1*\s*')  # a first line by which Excel is told
_WHOLE_CELL = re.compile(r'"(?:[^"]|"")*"')
_CALCULATE = "open it in a spreadsheet program and save it"
_NO_HEADER = (0, 0)
_PLAIN_PART = re.compile(r"part-[a-z0-9-]*\d+|\d+\.part")
_NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"

# A quote that is never closed takes the rest of a file into one cell: so much of it is held in memory. The default of
# 128 KiB is less than lyrics or a waveform may have.
_MOST_LETTERS = 4 * 1024 * 1024
csv.field_size_limit(_MOST_LETTERS)

Note = Callable[[bytes], object]  # takes bytes, as `update` of hashlib's objects does
ManifestRecord = tuple[int, Columns, Sequence[str]]
"""The first line, or the row's number in Parquet and workbooks, what the columns are, and as many cells."""
_Cells = tuple[int, list[str]]  # the number of a row's first line, from 1, and its cells
_Record = tuple[int, tuple[str, ...], Sequence[str]]  # the same, with the names of the columns; null is empty
_PackedOrPlain = gzip.GzipFile | BufferedReader


class ManifestFile:
    """One manifest in any format and encoding, compressed with gzip or not; or a part of one that is a folder."""

    def __init__(
        self, path: str, source: Files, settings: CatalogSettings = USUAL_CATALOG, *, whole: str | None = None
    ) -> None:
        """Read the manifest at `path`, which may be a part of the one at `whole`."""
        self.path = path
        self.folder = posixpath.dirname(path if whole is None else whole)  # that its locations are relative to
        self._name = path_within(path, self.folder)
        self._partition = partition_of(self._name)
        self._source = source
        self._settings = settings
        self._format = format_of(path, whole)
        self._columns_of = lru_cache(_HEADERS_KEPT)(lambda header: Columns.of(header, settings))

    @property
    def has_one_header(self) -> bool:
        return self._format not in _WITHOUT_HEADER

    @property
    def may_have_notes(self) -> bool:
        return self._format in _WRITTEN_BY_PEOPLE

    @property
    def words(self) -> str:
        """Name it for a person, up to the number of a record in it."""
        unit = "line" if self._is_text else "row"
        return f"{self.name}, {unit}"

    @property
    def name(self) -> str:
        return one_line(self._name)

    @property
    def _is_text(self) -> bool:
        return self._format in _IN_LINES

    @cached_property
    def encoding(self) -> str | None:
        """Return its codec, by the settings or by its bytes; None if its format is no text."""
        if not self._is_text:
            return None
        if self._settings.encoding is not None:
            return self._settings.encoding
        with self._opened() as plain:
            return encoding_of(_unpacked(plain))

    def records(self, note: Note | None = None, facts: ListFacts | None = None) -> Iterator[ManifestRecord]:
        """Read it; `note` takes its bytes before the first record is given, and `facts` are filled.

        CatalogError, possibly after many good records, names the line if there is one, or says that the file changed,
        or that it has no column of audio.
        """
        is_first = True
        if facts is None:  # not `or`: facts that are not filled yet are false
            facts = ListFacts(file=self.name)
        names, values = tuple(self._partition), [*self._partition.values()]
        with self._opened() as plain:
            if note is not None:
                _note_all(plain, note)
            for number, header, read in self._read(_unpacked(plain), facts):
                columns, cells = self._columns_of(header), read
                if names:
                    columns, cells = self._columns_of((*header, *names)), [*read, *values]
                if is_first:
                    self._refuse_unknown(columns, cells)
                    is_first = False
                yield number, columns, cells

    def headers(self) -> Iterator[Columns]:
        """Yield what its columns are, for each record if these may differ; CatalogError as for records."""
        for _, columns, _ in self.records():
            yield columns
            if self.has_one_header:
                return

    def note_bytes(self, note: Note) -> None:
        """Give its bytes to `note`, whatever they mean; CatalogError if it cannot be read, or changes."""
        with self._opened() as plain:
            _note_all(plain, note)

    def _refuse_unknown(self, columns: Columns, cells: Sequence[str]) -> None:
        """Refuse it by its first record if it has no column of audio, or lacks one that was named."""
        if columns.audio is not None and not (columns.unknown and self.has_one_header):
            return
        wanted = one_line(" or ".join(columns.unknown) or "audio or path")
        names = one_line(", ".join(columns.names))
        there_are = shorten(names, _SHOWN_LETTERS, placeholder=" …")
        hint = ""
        if FORMULA in columns.names:
            hint = f" (a cell of the header is a formula that was not calculated: {_CALCULATE})"
        elif not columns.unknown:
            name = one_line(_longest_audio_column(columns.names, cells))
            hint = f" (if one of them is the audio, set catalog.columns.audio = {name!r})"
        raise CatalogError(f"{one_line(self.path)}: no column is named {wanted}; the columns are: {there_are}{hint}")

    @contextmanager
    def _opened(self) -> Iterator[BufferedReader]:
        """Open it; whatever is wrong, also that it changed meanwhile, is a CatalogError of one line."""
        try:
            file = self._source.open(self.path)
            if file is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            with buffered(file) as plain:
                before = file.facts()
                try:
                    yield plain
                except _BROKEN:
                    _refuse_changed(file, before)  # what seems broken may only be half written
                    raise
                _refuse_changed(file, before)
        except SourceError as error:
            raise CatalogError(f"{one_line(self.path)}: cannot be read as a manifest. {error.message}") from error
        except _BROKEN as error:
            why = getattr(error, "strerror", None) or str(error)
            raise CatalogError(f"{one_line(self.path)}: cannot be read as a manifest: {one_line(why)}") from error

    def _read(self, file: _PackedOrPlain, facts: ListFacts) -> Iterator[_Record]:
        if self._is_text:
            with _decoded(file, self.encoding or "utf-8") as text:
                if self._format == _JSON:
                    yield from _json_records(text)
                else:
                    yield from self._delimited(text, facts)
            return
        with _seekable(file) as content:
            if self._format == _PARQUET:
                yield from self._parquet(content)
            else:
                yield from self._workbook(content, facts)

    def _parquet(self, content: IO[bytes]) -> Iterator[_Record]:
        _refuse_other_kinds(content, ".parquet")
        for number, (names, cells) in enumerate(parquet_rows(content, self._locations_in), start=1):
            yield number, names, cells

    def _locations_in(self, names: Sequence[str]) -> tuple[int | None, int | None]:
        columns = self._columns_of(tuple(names))
        return columns.audio, columns.sidecar

    def _workbook(self, content: IO[bytes], facts: ListFacts) -> Iterator[_Record]:
        from proofsweep.sources.workbook import SheetFacts, sheet_rows  # noqa: PLC0415 - openpyxl is slow to load

        _refuse_other_kinds(content, ".xlsx")
        sheet = SheetFacts()
        rows = sheet_rows(content, self._settings.sheet, sheet)
        is_first = True
        for number, header, cells in self._below_header(rows, "row", facts):
            if is_first:
                facts.other_sheets = sheet.others
                for column, name in enumerate(header, start=1):
                    if name and sheet.hides_column(column):
                        facts.hidden_columns.append(name)
                is_first = False
            facts.hidden_rows += number in sheet.hidden_rows
            yield number, header, cells

    def _delimited(self, text: TextIOWrapper, facts: ListFacts) -> Iterator[_Record]:
        head = list(islice(text, HEADER_ROWS))
        text.seek(0)
        said = _SAID_DELIMITER.fullmatch(head[0]) if head else None
        if said:
            rows = _rows_of_cells(text, said[1])
            next(rows, None)
        else:
            rows = _rows_of_cells(text, self._delimiter_of(head))
        yield from self._below_header(rows, "line", facts)

    def _below_header(self, rows: Iterator[_Cells], word: str, facts: ListFacts) -> Iterator[_Record]:
        """Yield what stands below the header: the first row that has the most columns, else that of several cells."""
        head = list[_Cells]()
        best, position = _NO_HEADER, None
        for row, score in self._scored(rows):
            if score > best:
                best, position = score, len(head)
            head.append(row)
        if position is None:
            position = _first_of_several_cells(head)
        if not head:
            return
        header_number, names = head[position]
        if position:
            facts.header = f"{word} {header_number}"
        header = tuple(map(_name_in_header, names))
        width = len(header)
        for number, cells in chain(head[position + 1 :], rows):
            if len(cells) == width:
                yield number, header, cells
                continue
            # A row that is cut in another way would have its audio in the column of something else.
            if "".join(cells[width:]).strip():
                raise ValueError(f"{word} {number} has {len(cells)} cells, the header {width}")
            missing = [""] * (width - len(cells))
            yield number, header, cells[:width] + missing

    def _scored(self, rows: Iterator[_Cells]) -> Iterator[tuple[_Cells, tuple[int, int]]]:
        """Yield the rows among which the header is, each with how much of one it is."""
        # The header stands above the first audio file.
        has_header = False
        for row in islice(rows, HEADER_ROWS):
            _, cells = row
            columns = self._columns_of(tuple(cells))
            yield row, columns.as_header
            has_header = has_header or columns.is_header
            if has_header and columns.names_audio:
                return

    def _delimiter_of(self, head: Sequence[str]) -> str:
        """Return the delimiter by which a row is most of a header; if none is, the commonest of the first line."""
        best, best_delimiter = _NO_HEADER, None
        for delimiter in _DELIMITERS:
            rows = _rows_of_cells(head, delimiter)
            with suppress(ValueError):  # it is raised again when the rows are read
                for _, score in self._scored(rows):
                    if score > best:
                        best, best_delimiter = score, delimiter
        first_line = next(filter(str.strip, head), "")
        return best_delimiter or max(_DELIMITERS, key=first_line.count)


def _name_in_header(name: str) -> str:
    return name if name == FORMULA else value_of(name)


def _longest_audio_column(names: Sequence[str], cells: Sequence[str]) -> str:
    # Of a path and its last part, the path: it leads to the file.
    longest, column = "", "NAME"
    for name, cell in zip(names, cells, strict=True):
        if is_audio_name(cell.strip()) and len(cell) > len(longest):
            longest, column = cell, name
    return column


def _first_of_several_cells(rows: Sequence[_Cells]) -> int:
    for position, (_, cells) in enumerate(rows):
        if len(cells) - cells.count("") > 1:
            return position
    return 0


def is_manifest_name(path: str) -> bool:
    return _suffix_of(path) in _FORMATS


def format_of(path: str, whole: str | None = None) -> str | None:
    """Return the format of a manifest, or of a part of the one at `whole`, by its name; None if that says none.

    Spark calls parts of JSON lines `.json`; Hadoop and Dask give some parts no ending that says a format.
    """
    suffix = _suffix_of(path)
    if suffix in _FORMATS or whole is None:
        return _FORMATS.get(suffix)
    if suffix == ".json":
        return _JSON
    if _PLAIN_PART.fullmatch(posixpath.basename(path)):
        return _FORMATS.get(_suffix_of(whole))
    return None


def partition_of(name: str) -> dict[str, str]:
    """Return the columns that the folders of a part say, as in `list.parquet/day=2026-11-23/part-0.parquet`."""
    columns = dict[str, str]()
    for folder in name.split("/")[1:-1]:
        column, is_partition, quoted = folder.partition("=")
        if is_partition:
            value = unquote(quoted)
            columns[unquote(column)] = "" if value == _NO_PARTITION else date_text(value)
    return columns


def _suffix_of(path: str) -> str:
    unpacked = path.lower().removesuffix(".gz")
    _, suffix = posixpath.splitext(unpacked)
    return suffix


def encoding_of(file: BufferedIOBase) -> str:
    """Read a file to its end, and return the codec of its text. The file stands at its start then.

    (1) A mark at the start, or NULs where UTF-16 has them, show it. (2) Text that is valid UTF-8 is UTF-8. (3) If no
    letter outside ASCII is valid UTF-8, and all bytes are of Windows-1252, it is that. (4) Else it is UTF-8, and other
    bytes stay as they are.
    """
    try:
        start = file.read(4)
        name = marked_codec(start)
        if name not in {None, "utf-8-sig"}:
            return str(name)
        characters = set[str]()
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        for piece in chain([start], iter(partial(file.read, _PIECE_BYTES), b""), [b""]):
            text = decoder.decode(piece, final=not piece)
            if not text.isascii():
                characters.update(text)
    finally:
        file.seek(0)
    raw = {character for character in characters if "\udc80" <= character <= "\udcff"}
    has_letters = not "".join(characters - raw).isascii()
    if not raw or has_letters or raw & _NOT_WESTERN:
        return "utf-8"
    return _WESTERN


def text_of(file: _PackedOrPlain, encoding: str, newline: str = "") -> TextIOWrapper:
    """Return a file's text. In UTF-8 its mark is left out, and other bytes stay as the names of files have them."""
    codec, errors = encoding, "strict"
    if encoding == "utf-8":
        codec, errors = "utf-8-sig", "surrogateescape"
    return TextIOWrapper(file, codec, errors, newline=newline)


def _unpacked(plain: BufferedReader) -> _PackedOrPlain:
    # By its bytes: programs also pack lists whose names do not end in .gz.
    if plain.peek(len(_GZIP)).startswith(_GZIP):
        return gzip.GzipFile(fileobj=plain)
    return plain


@contextmanager
def _seekable(file: _PackedOrPlain) -> Iterator[IO[bytes]]:
    if not isinstance(file, gzip.GzipFile):
        yield file
        return
    with TemporaryFile() as unpacked:
        shutil.copyfileobj(file, unpacked)
        unpacked.seek(0)
        yield unpacked


def _refuse_other_kinds(content: IO[bytes] | _PackedOrPlain, own: str = "") -> None:
    """Refuse a file whose content is of another kind than its name says."""
    words = words_for(content, own)
    if words is not None:
        raise ValueError(f"it is {words}")


@contextmanager
def _decoded(file: _PackedOrPlain, encoding: str) -> Iterator[TextIOWrapper]:
    _refuse_other_kinds(file)
    head = file.peek(HEADER_BYTES)[:HEADER_BYTES]
    if b"\0" in head and not encoding.startswith(("utf-16", "utf-32")):
        raise ValueError("it is no text")
    text = text_of(file, encoding)
    try:
        yield text
    finally:
        text.detach()


def _refuse_changed(file: OpenFile, before: FileFacts) -> None:
    if file.facts() != before:
        changed = "It changed while it was read: let its delivery finish, then try again."
        raise SourceError(changed, reason=Reason.SOURCE_CHANGED)


def _note_all(plain: BufferedReader, note: Note) -> None:
    while piece := plain.read(_PIECE_BYTES):
        note(piece)
    plain.seek(0)


def _json_records(text: TextIOWrapper) -> Iterator[_Record]:
    for number, line in enumerate(text, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise ValueError(f"line {number} is no JSON: {error}") from error
        if not isinstance(record, dict):
            raise ValueError(f"line {number} is no JSON object")  # noqa: TRY004 -- the file is wrong, not the call
        cells = [_json_text(value) for value in record.values()]
        yield number, tuple(record), cells


def _json_text(value: object) -> str:
    return date_text(value) if isinstance(value, str) else cell_text(value)


def _rows_of_cells(lines: Iterable[str], delimiter: str) -> Iterator[_Cells]:
    """Cut lines into the cells of rows that are not empty; ValueError names the row in which a quote is not closed."""
    rows: Iterable[_Cells] = rows_of_csv(lines, delimiter)
    if delimiter == "\t":
        rows = enumerate(map(_between_tabs, lines), start=1)
    for number, cells in rows:
        if len(cells) > 1 or "".join(cells).strip():
            yield number, cells


def rows_of_csv(lines: Iterable[str], delimiter: str = ",") -> Iterator[_Cells]:
    """Cut lines into cells, each row after its first line's number; ValueError names the row that is no CSV."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    number = 1
    try:
        for cells in reader:
            yield number, cells
            number = reader.line_num + 1
    except csv.Error as error:
        remedy = "close the quote that opens in this row, and write quotes inside of quotes twice"
        if "limit" in str(error):
            remedy = f"a cell of this row is longer than {_MOST_LETTERS:,} characters: shorten it, or close its quote"
        raise ValueError(f"line {number}: {remedy} ({error})") from error


def _between_tabs(line: str) -> list[str]:
    # With tabs, a line is a row. Only a cell that is quoted as a whole loses its quotes; other quotes are letters.
    cells = line.rstrip("\r\n").split("\t")
    for index, cell in enumerate(cells):
        if _WHOLE_CELL.fullmatch(cell):
            cells[index] = cell[1:-1].replace('""', '"')
    return cells
