"""Read one sheet of an Excel workbook (.xlsx) row by row, as text."""

import math
import re
import struct
import textwrap
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, time
from typing import IO, Self
from xml.etree.ElementTree import Element
from zipfile import BadZipFile

from openpyxl.cell.text import Text  # type: ignore[import-untyped]  # it has none
from openpyxl.reader.excel import ExcelReader  # type: ignore[import-untyped]  # the same
from openpyxl.styles.numbers import BUILTIN_FORMATS_MAX_SIZE  # type: ignore[import-untyped]  # the same
from openpyxl.styles.stylesheet import Stylesheet  # type: ignore[import-untyped]  # the same
from openpyxl.utils.datetime import SECS_PER_DAY, from_excel  # type: ignore[import-untyped]  # the same
from openpyxl.worksheet._reader import WorkSheetParser  # type: ignore[import-untyped]  # the same
from openpyxl.xml.constants import SHEET_MAIN_NS  # type: ignore[import-untyped]  # the same
from openpyxl.xml.functions import fromstring, localname  # type: ignore[import-untyped]  # the same

from proofsweep.catalog.workbook_parts import EXPORT, WorkbookArchive
from proofsweep.model.completion_report import SHEETS

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
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_BROKEN = (
    *(BadZipFile, zlib.error, struct.error, EOFError, OSError, NotImplementedError),
    *(SyntaxError, TypeError, AttributeError, LookupError),  # of openpyxl, and of XML
)


def sheet_rows(file: IO[bytes], sheet: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each row that is not empty, of the first visible sheet or of a named one.

    Raises:
        ValueError: it is no workbook that can be read, it is too large, or it has no such sheet.
    """
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
    formats = NumberFormats.of(archive, targets.get("styles"), reader.wb.epoch)
    with archive.part(name) as part:
        parser = WorkSheetParser(part, texts, data_only=True)
        number = seen = 0
        for row in part.elements(_tag("sheetData"), _tag("row")):
            seen += len(row)
            number = max(number + 1, _number(row))
            row.attrib.clear()  # the parser would keep the height of each row
            if seen > _MOST_CELLS or number > _MOST_ROWS:
                raise ValueError(f"it has more than {_MOST_CELLS:,} cells or {_MOST_ROWS:,} rows: {EXPORT}")
            cells = _cells(number, parser, row, formats)
            if any(map(str.strip, cells)):
                yield number, cells


def _chosen(reader: ExcelReader, sheet: str | None) -> str:
    """Return the name of the part of a sheet; by default of the first that can be seen, or of our report's rows."""
    if any(each.id is None for each in reader.parser.sheets):  # openpyxl does not know its namespaces
        raise ValueError("it is a Strict Open XML workbook: save it as an ordinary .xlsx")
    kinds = [(each, reader.parser.rels[each.id]) for each in reader.parser.sheets]
    sheets = [(each, kind.target) for each, kind in kinds if kind.Type.endswith("/worksheet")]
    if sheet is not None:
        named = [target for each, target in sheets if each.name.strip().lower() == sheet.strip().lower()]
        if not named:
            raise ValueError(f"it has no sheet {sheet!r}; there are: {', '.join(each.name for each, _ in sheets)}")
        return str(named[0])
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFormats:
    """How numbers are shown, by the style of their cells.

    Attributes:
        dates: the styles of dates and times.
        digits: with how many digits a number is shown at least, as a code with leading zeros is.
        epoch: the day that dates count from.
    """

    dates: frozenset[int]
    digits: Mapping[int, int]
    epoch: datetime

    @classmethod
    def of(cls, archive: WorkbookArchive, name: str | None, epoch: datetime) -> Self:
        """Read them."""
        if name is None:
            return cls(dates=frozenset(), digits={}, epoch=epoch)
        tree = fromstring(archive.read(name))
        for each in [each for each in tree if localname(each) not in {"numFmts", "cellXfs"}]:
            tree.remove(each)
        sheet = Stylesheet.from_tree(tree)
        codes = dict(enumerate(sheet.number_formats, BUILTIN_FORMATS_MAX_SIZE))
        styles = [(style, each.numFmtId) for style, each in enumerate(sheet.cell_styles)]
        return cls(
            dates=sheet.date_formats | {style for style, number in styles if number in _EAST_ASIAN_DATES},
            digits={
                style: len(code) for style, number in styles if (code := codes.get(number)) and not code.strip("0")
            },
            epoch=epoch,
        )

    def text(self, value: object, style: int) -> str:
        """Return the text of a cell: a whole number without a point, a date in ISO, an ID with its leading zeros."""
        match value:
            case None:
                return ""
            case bool():
                return str(value).lower()
            case int() | float() if style in self.dates:
                return _date_text(value, self.epoch)
            case int() | float():
                whole = int(value) if math.isfinite(value) and value == int(value) else None
                return repr(value) if whole is None else str(whole).zfill(self.digits.get(style, 0))
            case _:
                return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), _short(str(value)))


def _date_text(days: float, epoch: datetime) -> str:
    try:
        at = from_excel(round(days * SECS_PER_DAY) / SECS_PER_DAY, epoch)
    except (ValueError, OverflowError):
        return str(days)  # no date, whatever the cell says
    is_day = isinstance(at, datetime) and at.time() == time()
    return str((at.date() if is_day else at).isoformat())


def _cells(number: int, parser: WorkSheetParser, row: Element, formats: NumberFormats) -> list[str]:
    cells: list[str] = []
    try:
        for cell in parser.parse_row(row)[1]:
            column = cell["column"]
            if column > _MOST_COLUMNS:
                raise ValueError(f"it has more than {_MOST_COLUMNS:,} cells")  # noqa: TRY301 - the row is named below
            if text := formats.text(cell["value"], cell["style_id"]):
                cells += [""] * (column - len(cells))
                cells[column - 1] = text
    except (ValueError, LookupError) as error:
        raise ValueError(f"row {number}: {_start_of(error)}") from error
    return cells


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
