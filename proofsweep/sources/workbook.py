"""Read one sheet of an Excel workbook (.xlsx) row by row, as text."""

import re
import struct
import textwrap
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import IO
from xml.etree.ElementTree import Element
from zipfile import BadZipFile

from openpyxl.cell.text import Text  # type: ignore[import-untyped]  # it has none
from openpyxl.reader.excel import ExcelReader  # type: ignore[import-untyped]  # the same
from openpyxl.styles.numbers import BUILTIN_FORMATS_MAX_SIZE  # type: ignore[import-untyped]  # the same
from openpyxl.styles.stylesheet import Stylesheet  # type: ignore[import-untyped]  # the same
from openpyxl.utils.cell import range_boundaries  # type: ignore[import-untyped]  # the same
from openpyxl.utils.datetime import SECS_PER_DAY, from_excel  # type: ignore[import-untyped]  # the same
from openpyxl.worksheet._reader import WorkSheetParser  # type: ignore[import-untyped]  # the same
from openpyxl.xml.constants import SHEET_MAIN_NS  # type: ignore[import-untyped]  # the same
from openpyxl.xml.functions import fromstring, localname  # type: ignore[import-untyped]  # the same

from proofsweep.sources.columns import Columns, Formula, cell_text
from proofsweep.sources.completion_report import SHEETS
from proofsweep.sources.workbook_parts import EXPORT, WorkbookArchive

# Excel's own limits of a sheet and of a cell.
_MOST_ROWS = 1_048_576
_MOST_COLUMNS = 16_384
_MOST_LETTERS = 32_767
_MOST_CELLS = 20_000_000
_MOST_TEXTS_BYTES = 512 * 1024**2
_MOST_TEXTS = 16_000_000
_MOST_WORDS = 200

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


def _rows(archive: WorkbookArchive, sheet: str | None) -> Iterator[tuple[int, list[str]]]:
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
            number = max(number + 1, _number(row))
            seen += len(row)
            row.attrib.clear()  # the parser would keep the height of each row
            cells = _cells(number, parser, row, formats, shared)
            seen += merged.begin(number, cells)
            if seen > _MOST_CELLS or number > _MOST_ROWS:
                raise ValueError(f"it has more than {_MOST_CELLS:,} cells or {_MOST_ROWS:,} rows: {EXPORT}")
            if not Columns.is_empty(cells):
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


def _texts(archive: WorkbookArchive, name: str | None) -> list[str]:
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

    def __init__(self, archive: WorkbookArchive, name: str | None, epoch: datetime) -> None:
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
            return _date_text(value, self._epoch)
        text = cell_text(value)
        return text.zfill(self._digits.get(style, 0)) if text.isdigit() else text


def _date_text(days: float, epoch: datetime) -> str:
    try:
        at = from_excel(round(days * SECS_PER_DAY) / SECS_PER_DAY, epoch)
    except (ValueError, OverflowError):
        return str(days)  # no date, whatever the cell says
    return cell_text(at)


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


def _number(row: Element) -> int:
    number = row.get("r", "0")
    return int(number) if re.fullmatch("[0-9]{1,9}", number) else 0


def _short(text: str) -> str:
    if len(text) > _MOST_LETTERS:
        raise ValueError(f"it has a cell of more than {_MOST_LETTERS:,} letters")
    return text


def _start_of(error: Exception) -> str:
    return textwrap.shorten(str(error), _MOST_WORDS)


def _tag(name: str) -> str:
    return f"{{{SHEET_MAIN_NS}}}{name}"
