"""Read one sheet of an Excel workbook (.xlsx) row by row, as text. Memory is bounded, whatever the file holds."""

import posixpath
import re
import struct
import zlib
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Self
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from proofsweep.catalog.cell_formats import CellFormat, format_of, text_of_number
from proofsweep.catalog.workbook_xml import Attributes, Elements, attribute, read_xml
from proofsweep.model.completion_report import SHEETS

# Excel's own limits of a sheet and of a cell.
_MOST_ROWS = 1_048_576
_MOST_COLUMNS = 16_384
_MOST_LETTERS = 32_767
# Chosen: twenty columns of the longest sheet; such a list takes some 60 s to read.
_MOST_CELLS = 20_000_000
# Chosen: bytes of a part when unpacked. The texts of a sheet stay in memory, in as many bytes and eight more each.
_MOST_SHEET_BYTES = 4 * 1024**3
_MOST_TEXTS_BYTES = 512 * 1024**2
_MOST_PART_BYTES = 16 * 1024**2
_MOST_TEXTS = 16_000_000
_MOST_FORMATS = 65_536

_EXPORT = "export it as CSV"
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_REFERENCE = re.compile(r"([A-Z]{1,3})[0-9]+")


def sheet_rows(file: IO[bytes], sheet: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each row that is not empty, of the first visible sheet or of a named one.

    Raises:
        ValueError: it is no workbook that can be read, it is too large, or it has no such sheet.
    """
    try:
        with ZipFile(file) as packed:
            yield from _rows(packed, sheet)
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, KeyError, struct.error) as error:
        raise ValueError(f"it is no Excel workbook that can be read: {error}") from error


def _rows(packed: ZipFile, sheet: str | None) -> Iterator[tuple[int, list[str]]]:
    top = _Related.of(packed, "").values()
    main = next((target for kind, target in top if kind == "officeDocument"), "xl/workbook.xml")
    book, texts, formats = _Book(), _Texts(), _Formats()
    _read(packed, main, book)
    related = _Related.of(packed, main)
    for kind, target in related.values():
        if kind == "sharedStrings":
            _read(packed, target, texts, _MOST_TEXTS_BYTES)
        elif kind == "styles":
            _read(packed, target, formats)
    reader = _Sheet(texts, formats.of_cells, is_1904=book.is_1904)
    with _part(packed, book.chosen(sheet, related), _MOST_SHEET_BYTES) as part:
        for _ in read_xml(part, reader):
            yield from reader.rows
            reader.rows.clear()


def _read(packed: ZipFile, name: str, elements: Elements, most_bytes: int = _MOST_PART_BYTES) -> None:
    with _part(packed, name, most_bytes) as part:
        for _ in read_xml(part, elements):
            pass


def _part(packed: ZipFile, name: str, most_bytes: int) -> IO[bytes]:
    info = packed.getinfo(name)
    if info.flag_bits & 1:
        raise ValueError("it has a password: save it without one")
    if info.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
        raise ValueError(f"it is not packed as workbooks are: {_EXPORT}")
    if info.file_size > most_bytes:
        raise ValueError(
            f"its part {name} has {info.file_size:,} bytes, and at most {most_bytes:,} are read: {_EXPORT}"
        )
    return packed.open(info)


class _Related(Elements, dict[str, tuple[str, str]]):
    """The kinds and names of the parts that a part names, by their IDs."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = folder

    @classmethod
    def of(cls, packed: ZipFile, source: str) -> Self:
        """Read what a part names; of the workbook itself the name is empty."""
        folder, name = posixpath.split(source)
        related = cls(folder)
        _read(packed, posixpath.join(folder, "_rels", f"{name}.rels"), related)
        return related

    def begin(self, element: str, attributes: Attributes) -> None:
        """Take the begin of an element."""
        if element == "Relationship" and attributes.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", self._folder, attributes["Target"])).lstrip("/")
            self[attributes["Id"]] = (attributes["Type"].rpartition("/")[2], target)


class _Book(Elements):
    """The sheets of a workbook."""

    def __init__(self) -> None:
        self.is_1904 = False
        self._ids: dict[str, str] = {}
        self._hidden: set[str] = set()

    def begin(self, element: str, attributes: Attributes) -> None:
        """Take the begin of an element."""
        if element == "workbookPr":
            self.is_1904 = attributes.get("date1904", "0") in {"1", "true"}
        elif element == "sheet":
            name = attributes["name"]
            self._ids[name] = attribute(attributes, "id") or ""
            self._hidden |= {name} if attributes.get("state", "visible") != "visible" else set()

    def chosen(self, sheet: str | None, related: Mapping[str, tuple[str, str]]) -> str:
        """Return the name of the part of a sheet; by default of the first that can be seen, or of our report's rows."""
        kinds = {name: related[each] for name, each in self._ids.items()}
        parts = {name: target for name, (kind, target) in kinds.items() if kind == "worksheet"}
        if sheet is None:
            names = [name for name in parts if name not in self._hidden] or [*parts]
            if not names:
                raise ValueError("it has no sheet with cells")
            return parts[SHEETS[-1] if tuple(names[: len(SHEETS)]) == SHEETS else names[0]]
        found = next((name for name in parts if name.strip().lower() == sheet.strip().lower()), None)
        if found is None:
            raise ValueError(f"it has no sheet {sheet!r}; there are: {', '.join(parts)}")
        return parts[found]


class _Texts(Elements):
    """The texts that cells share, each once."""

    def __init__(self) -> None:
        self._all, self._ends = bytearray(), array("Q", [0])
        self._is_text, self._is_reading_aid = False, False

    def __getitem__(self, index: int) -> str:
        if not 0 <= index < len(self._ends) - 1:
            raise ValueError("a cell names a text that is not there")
        start, end = self._ends[index], self._ends[index + 1]
        if end - start > 4 * _MOST_LETTERS:
            raise ValueError(f"it has a cell of more than {_MOST_LETTERS:,} letters")
        return self._all[start:end].decode("utf-8", "surrogatepass")

    def begin(self, element: str, _: Attributes) -> None:
        """Take the begin of an element."""
        self._is_text = element == "t"
        self._is_reading_aid |= element == "rPh"  # how letters of East Asia are pronounced

    def end(self, element: str) -> None:
        """Take the end of an element."""
        self._is_text = False
        if element == "rPh":
            self._is_reading_aid = False
        elif element == "si":
            self._ends.append(len(self._all))
            if len(self._ends) > _MOST_TEXTS:
                raise ValueError(f"it has more than {_MOST_TEXTS:,} texts: {_EXPORT}")

    def text(self, text: str) -> None:
        """Take a piece of text."""
        if self._is_text and not self._is_reading_aid:
            self._all += text.encode("utf-8", "surrogatepass")


class _Formats(Elements):
    """How the numbers of cells are shown, by the style of the cell."""

    def __init__(self) -> None:
        self.of_cells: list[CellFormat] = []
        self._codes: dict[int, str] = {}
        self._is_of_cells = False

    def begin(self, element: str, attributes: Attributes) -> None:
        """Take the begin of an element."""
        if element == "numFmt":
            self._codes[int(attributes["numFmtId"])] = attributes["formatCode"]
        elif element == "cellXfs":
            self._is_of_cells = True
        elif element == "xf" and self._is_of_cells:
            number = int(attributes.get("numFmtId", "0"))
            self.of_cells.append(format_of(number, self._codes.get(number, "")))
            if len(self.of_cells) > _MOST_FORMATS:
                raise ValueError(f"it has more than {_MOST_FORMATS:,} styles: {_EXPORT}")

    def end(self, element: str) -> None:
        """Take the end of an element."""
        self._is_of_cells = self._is_of_cells and element != "cellXfs"


@dataclass
class _Sheet(Elements):
    """Makes rows of a sheet's elements.

    Attributes:
        rows: those that are complete; the reader takes them out.
    """

    texts: _Texts
    formats: list[CellFormat]
    is_1904: bool
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    _number: int = 0
    _cells: list[str] = field(default_factory=list)
    _column: int = -1
    _seen: int = 0
    _kind: str = "n"
    _format: CellFormat = CellFormat.PLAIN
    _value: list[str] = field(default_factory=list)
    _letters: int = 0
    _is_value: bool = False
    _is_reading_aid: bool = False

    def begin(self, element: str, attributes: Attributes) -> None:
        """Take the begin of an element."""
        match element:
            case "c":
                self._begin_cell(attributes)
            case "v" | "t":
                self._is_value = not self._is_reading_aid
            case "rPh":
                self._is_reading_aid = True
            case "row":
                self._number = max(int(attributes.get("r", self._number + 1)), self._number + 1)
                self._cells, self._column = [], -1
                if self._number > _MOST_ROWS:
                    raise ValueError(f"it has a row {self._number:,}, and a sheet ends at {_MOST_ROWS:,}")

    def end(self, element: str) -> None:
        """Take the end of an element."""
        match element:
            case "v" | "t":
                self._is_value = False
            case "rPh":
                self._is_reading_aid = False
            case "c":
                text = self._text_of_cell()
                if text:
                    self._cells += [""] * (self._column - len(self._cells) + 1)
                    self._cells[self._column] = text
            case "row":
                if "".join(self._cells).strip():
                    self.rows.append((self._number, self._cells))
                self._cells = []

    def text(self, text: str) -> None:
        """Take a piece of text."""
        if self._is_value:
            self._letters += len(text)
            if self._letters > _MOST_LETTERS:
                raise ValueError(f"row {self._number} has a cell of more than {_MOST_LETTERS:,} letters")
            self._value.append(text)

    def _begin_cell(self, attributes: Attributes) -> None:
        self._seen += 1
        if self._seen > _MOST_CELLS:
            raise ValueError(f"it has more than {_MOST_CELLS:,} cells: {_EXPORT}")
        reference = _REFERENCE.fullmatch(attributes.get("r", ""))
        self._column = self._column + 1 if reference is None else _index_of(reference[1])
        if self._column >= _MOST_COLUMNS:
            raise ValueError(f"row {self._number} has more than {_MOST_COLUMNS:,} cells")
        style = int(attributes.get("s", "0"))
        self._format = self.formats[style] if 0 <= style < len(self.formats) else CellFormat.PLAIN
        self._kind, self._letters = attributes.get("t", "n"), 0
        self._value.clear()

    def _text_of_cell(self) -> str:
        value = "".join(self._value)
        match self._kind:
            case "n":
                return text_of_number(value, self._format, is_1904=self.is_1904)
            case "s":
                return _unescaped(self.texts[int(value)]) if value else ""
            case "b":
                return "true" if value == "1" else "false"
            case _:
                return _unescaped(value)


def _index_of(letters: str) -> int:
    index = 0
    for letter in letters:
        index = index * 26 + ord(letter) - ord("A") + 1
    return index - 1


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text
