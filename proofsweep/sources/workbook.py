"""Read one sheet of an Excel workbook (.xlsx) row by row, as text; only a little of it is in memory."""

import re
import struct
import textwrap
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import IO, Self
from xml.etree.ElementTree import Element, iterparse
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from openpyxl.cell.text import Text  # type: ignore[import-untyped]  # it has none
from openpyxl.reader.excel import ExcelReader  # type: ignore[import-untyped]  # the same
from openpyxl.styles.numbers import BUILTIN_FORMATS_MAX_SIZE  # type: ignore[import-untyped]  # the same
from openpyxl.styles.stylesheet import Stylesheet  # type: ignore[import-untyped]  # the same
from openpyxl.utils.cell import range_boundaries  # type: ignore[import-untyped]  # the same
from openpyxl.utils.datetime import SECS_PER_DAY, from_excel  # type: ignore[import-untyped]  # the same
from openpyxl.worksheet._reader import WorkSheetParser  # type: ignore[import-untyped]  # the same
from openpyxl.xml.constants import SHEET_MAIN_NS  # type: ignore[import-untyped]  # the same
from openpyxl.xml.functions import fromstring, localname  # type: ignore[import-untyped]  # the same

from proofsweep.sources.columns import SHEETS, Formula, cell_text, is_empty

EXPORT = "export it as CSV"

# Excel's own limits of a sheet and of a cell.
_MOST_ROWS = 1_048_576
_MOST_COLUMNS = 16_384
_MOST_LETTERS = 32_767
# Bounds on what a file can make us do.
_MOST_CELLS = 20_000_000
_MOST_TEXTS_BYTES = 512 * 1024**2
_MOST_TEXTS = 16_000_000
_MOST_BYTES = 2 * 1024**3
_MOST_ELEMENTS = 60_000_000
_MOST_PIECE_BYTES = 4 * 1024**2
_MOST_MERGED, _LONGEST_TAG_BYTES, _SEARCHED_BYTES = 1_000_000, 256, 256 * 1024
_MOST_WORDS = 200

# Without a document type there are no entities, which make gigabytes of a line.
_DOCTYPE = b"<!DOCTYPE"
# It stands behind all rows, and to parse them twice would take half as long again.
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]{1,3}[0-9]{1,7}:[A-Z]{1,3}[0-9]{1,7})"')
# The built-in dates of East Asia, which openpyxl does not know (ECMA-376, part 1, 18.8.30).
_EAST_ASIAN_DATES = frozenset({*range(27, 37), *range(50, 59)})
_QUOTED = re.compile('"[^"]*"')
_GIVES_TEXT = re.compile(
    r"\s*(_xlfn\.)?(CONCAT|CONCATENATE|TEXT|TEXTJOIN|LEFT|RIGHT|MID|UPPER|LOWER|PROPER|SUBSTITUTE|REPLACE|TRIM|CLEAN|"
    r"REPT|HYPERLINK)\(",
    re.IGNORECASE,
)
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_BROKEN = (
    *(BadZipFile, zlib.error, struct.error, EOFError, OSError, NotImplementedError),
    *(SyntaxError, TypeError, AttributeError, LookupError),  # of openpyxl, and of XML
)


def sheet_rows(file: IO[bytes], sheet: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and cells of each row of a sheet that is not empty; ValueError if it cannot be read."""
    try:
        with WorkbookArchive(file) as archive:
            yield from _rows(archive, sheet)
    except _BROKEN as error:
        raise ValueError(f"it is no Excel workbook that can be read: {_start_of(error)}") from error


def _rows(archive: "WorkbookArchive", sheet: str | None) -> Iterator[tuple[int, list[str]]]:
    reader = ExcelReader(archive.fp, read_only=True, data_only=True, keep_links=False)
    reader.archive = archive  # within bounds
    reader.read_manifest()
    reader.read_workbook()
    name = _chosen(reader, sheet)
    targets = {kind.rpartition("/")[2]: each.target for each in reader.parser.rels.values() if (kind := each.Type)}
    texts = _texts(archive, targets.get("sharedStrings"))
    formats = _NumberFormats(archive, targets.get("styles"), reader.wb.epoch)
    with archive.part(name) as part:
        merged = _MergedCells(part.merged())
    with archive.part(name) as part:
        parser = WorkSheetParser(part, texts, data_only=True)
        shared: dict[str | None, str] = {}
        number = seen = 0
        for row in part.elements(_tag("sheetData"), _tag("row")):
            written = row.get("r", "")
            number = max(number + 1, int(written) if re.fullmatch("[0-9]{1,9}", written) else 0)
            seen += len(row)
            row.attrib.clear()  # the parser would keep the height of each row
            cells = _cells(number, parser, row, formats, shared)
            seen += merged.begin(number, cells)
            if seen > _MOST_CELLS or number > _MOST_ROWS:
                raise ValueError(f"it has more than {_MOST_CELLS:,} cells or {_MOST_ROWS:,} rows: {EXPORT}")
            if not is_empty(cells):
                yield number, merged.filled(cells)


class _MergedCells:
    """The ranges of a sheet whose first cell's value counts for all their cells, as far as the sheet has columns."""

    def __init__(self, ranges: Iterable[str]) -> None:
        bounds = sorted(map(range_boundaries, ranges), key=lambda each: each[1])
        self._waiting: deque[tuple[int, int, int, int]] = deque(bounds)
        self._active: list[tuple[tuple[int, int, int, int], str]] = []
        self._width = 0

    def begin(self, number: int, cells: Sequence[str]) -> int:
        """Go on to a row, and keep the values of ranges that begin in it; return how many of its cells are merged."""
        self._width = max(self._width, len(cells))
        self._active = [each for each in self._active if each[0][3] >= number]
        while self._waiting and self._waiting[0][1] <= number:
            first, top, *_ = bounds = self._waiting.popleft()
            if top == number and (value := "".join(cells[first - 1 : first])):
                self._active.append((bounds, value))
        return sum(min(last, self._width) - first + 1 for (first, _, last, _), _ in self._active)

    def filled(self, cells: list[str]) -> list[str]:
        for (first, _, last, _), value in self._active:
            for column in range(first, min(last, self._width) + 1):
                cells += [""] * (column - len(cells))
                cells[column - 1] = cells[column - 1] or value
        return cells


def _chosen(reader: ExcelReader, sheet: str | None) -> str:
    """Return the name of the part of a sheet; by default of the first that can be seen, or of our report's rows."""
    if any(each.id is None for each in reader.parser.sheets):  # openpyxl does not know its namespaces
        raise ValueError("it is a Strict Open XML workbook: save it as an ordinary .xlsx")
    kinds = [(each, reader.parser.rels[each.id]) for each in reader.parser.sheets]
    sheets = [(each, kind.target) for each, kind in kinds if kind.Type.endswith("/worksheet")]
    if sheet is not None:
        for each, target in sheets:
            if each.name.strip().lower() == sheet.strip().lower():
                return str(target)
        raise ValueError(f"it has no sheet {sheet!r}; there are: {', '.join(each.name for each, _ in sheets)}")
    seen = [(each.name, target) for each, target in sheets if each.state == "visible"]
    seen = seen or [(each.name, target) for each, target in sheets]
    if not seen:
        raise ValueError("it has no sheet with cells")
    is_report = tuple(name for name, _ in seen[: len(SHEETS)]) == SHEETS
    return str(seen[len(SHEETS) - 1 if is_report else 0][1])


def _texts(archive: "WorkbookArchive", name: str | None) -> list[str]:
    texts: list[str] = []
    if name is not None:
        with archive.part(name, _MOST_TEXTS_BYTES) as part:
            for element in part.elements(_tag("sst"), _tag("si")):
                texts.append(_short(Text.from_tree(element).content))
                if len(texts) > _MOST_TEXTS:
                    raise ValueError(f"it has more than {_MOST_TEXTS:,} texts: {EXPORT}")
    return texts


class _NumberFormats:
    """How numbers are shown, by the style of their cells: dates and times, and codes with leading zeros."""

    def __init__(self, archive: "WorkbookArchive", name: str | None, epoch: datetime) -> None:
        self._epoch = epoch  # the day that dates count from
        self._dates: set[int] = set()
        self._digits: dict[int, int] = {}  # with so many a number is shown at least
        if name is None:
            return
        tree = fromstring(archive.read(name))
        for each in [each for each in tree if localname(each) not in {"numFmts", "cellXfs"}]:
            tree.remove(each)
        sheet = Stylesheet.from_tree(tree)
        codes = dict(enumerate(sheet.number_formats, BUILTIN_FORMATS_MAX_SIZE))
        self._dates.update(sheet.date_formats)
        for style, each in enumerate(sheet.cell_styles):
            if each.numFmtId in _EAST_ASIAN_DATES:
                self._dates.add(style)
            if (code := codes.get(each.numFmtId)) and not code.strip("0"):
                self._digits[style] = len(code)

    def text(self, value: object, style: int) -> str:
        """Return the text of a cell: a whole number without a point, a date in ISO, an ID with its leading zeros."""
        if value is None or isinstance(value, bool):
            return cell_text(value)
        if not isinstance(value, int | float):
            return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), _short(str(value)))
        if style in self._dates:
            with suppress(ValueError, OverflowError):  # else it is no date, whatever the cell says
                return cell_text(from_excel(round(value * SECS_PER_DAY) / SECS_PER_DAY, self._epoch))
            return str(value)
        text = cell_text(value)
        return text.zfill(self._digits.get(style, 0)) if text.isdigit() else text


def _cells(
    number: int, parser: WorkSheetParser, row: Element, formats: _NumberFormats, shared: dict[str | None, str]
) -> list[str]:
    cells: list[str] = []
    try:
        for element, cell in zip(row, parser.parse_row(row)[1], strict=True):
            column = cell["column"]
            if column > _MOST_COLUMNS:
                raise ValueError(f"it has more than {_MOST_COLUMNS:,} cells")  # noqa: TRY301 - the row is named below
            text = formats.text(cell["value"], cell["style_id"])
            if (formula := element.find(_tag("f"))) is not None:
                text = _calculated(element, text, formula, shared)
            if text or isinstance(text, Formula):
                cells += [""] * (column - len(cells))
                cells[column - 1] = text
    except (ValueError, LookupError) as error:
        raise ValueError(f"row {number}: {_start_of(error)}") from error
    return cells


def _calculated(element: Element, text: str, formula: Element, shared: dict[str | None, str]) -> str:
    """Return the text of a formula's value; if it has none, or a 0 that nobody calculated, a `Formula` of it."""
    if formula.get("t") == "shared" and formula.text:
        shared[formula.get("si")] = formula.text
    if text.strip("0") or element.get("t", "n") != "n":
        return text  # also an empty text: it was calculated
    written = _QUOTED.sub("", formula.text or shared.get(formula.get("si"), ""))
    gives_text = "&" in written or _GIVES_TEXT.match(written) is not None
    return Formula("" if gives_text else text)


def _short(text: str) -> str:
    if len(text) > _MOST_LETTERS:
        raise ValueError(f"it has a cell of more than {_MOST_LETTERS:,} letters")
    return text


def _start_of(error: Exception) -> str:
    return textwrap.shorten(str(error), _MOST_WORDS)


def _tag(name: str) -> str:
    return f"{{{SHEET_MAIN_NS}}}{name}"


class WorkbookPart:
    """A part as a stream; who reads on must say when a piece is done with."""

    def __init__(self, name: str, stream: IO[bytes]) -> None:
        self._name, self._stream = name, stream
        self._piece_bytes, self._end = 0, b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, size: int = -1) -> bytes:
        """Read on; ValueError if the piece is too long, or there is a document type."""
        left = _MOST_PIECE_BYTES + 1 - self._piece_bytes
        read = self._stream.read(left if size < 0 else min(size, left))
        self._piece_bytes += len(read)
        if self._piece_bytes > _MOST_PIECE_BYTES:
            raise ValueError(f"its part {self._name} has a piece of more than {_MOST_PIECE_BYTES:,} bytes: {EXPORT}")
        seen = self._end + read.replace(b"\0", b"")  # as in UTF-16
        if _DOCTYPE in seen:
            raise ValueError("it declares a document type, which no spreadsheet does")
        self._end = seen[1 - len(_DOCTYPE) :]
        return read

    def merged(self) -> set[str]:
        """Read the part to its end, and return its ranges of merged cells, as `A2:A4`."""
        found, end = set[bytes](), b""
        while piece := self._stream.read(_SEARCHED_BYTES):
            seen = end + piece.replace(b"\0", b"")
            found.update(_MERGED.findall(seen))
            end = seen[-_LONGEST_TAG_BYTES:]
            if len(found) > _MOST_MERGED:
                raise ValueError(f"its part {self._name} has more than {_MOST_MERGED:,} merged cells: {EXPORT}")
        return {each.decode() for each in found}

    def elements(self, parent: str, tag: str) -> Iterator[Element]:
        """Yield each element of a tag up to the end of its parent. An element is empty when the next one comes."""
        above: list[Element] = []
        seen = 0
        for event, element in iterparse(self, ("start", "end")):  # noqa: S314 - see _DOCTYPE
            if event == "start":
                above.append(element)
                seen += 1
                if seen > _MOST_ELEMENTS:
                    raise ValueError(f"its part {self._name} has more than {_MOST_ELEMENTS:,} elements: {EXPORT}")
                continue
            above.pop()
            if element.tag == tag and above:
                yield element
                above[-1].clear()
                self._piece_bytes = 0
            elif element.tag == parent:
                return


class WorkbookArchive(ZipFile):
    """A ZIP archive whose parts are read within bounds."""

    def part(self, name: str, most_bytes: int = _MOST_BYTES) -> WorkbookPart:
        """Open a part; ValueError if it may not be read, KeyError if there is none."""
        info = self.getinfo(name)
        if info.flag_bits & 1:
            raise ValueError("it has a password: save it without one")
        if info.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:  # others take memory that the file chooses
            raise ValueError(f"it is not packed as workbooks are: {EXPORT}")
        if info.file_size > most_bytes:  # no more than stands there is unpacked
            raise ValueError(
                f"its part {name} has {info.file_size:,} bytes, and at most {most_bytes:,} are read: {EXPORT}"
            )
        return WorkbookPart(name, self.open(info))

    def read(self, name: str | ZipInfo, pwd: bytes | None = None) -> bytes:  # noqa: ARG002 - ZipFile has it
        with self.part(name.filename if isinstance(name, ZipInfo) else name, _MOST_PIECE_BYTES) as part:
            return part.read()
