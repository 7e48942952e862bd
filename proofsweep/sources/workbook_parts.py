"""The parts of an Excel workbook, of which only a little is in memory, whatever the ZIP archive and its XML hold."""

import re
from collections.abc import Iterator
from typing import IO, Self
from xml.etree.ElementTree import Element, iterparse
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

EXPORT = "export it as CSV"
_MOST_BYTES = 2 * 1024**3
_MOST_ELEMENTS = 60_000_000
_MOST_PIECE_BYTES = 4 * 1024**2
# Without a document type there are no entities, which make gigabytes of a line.
_DOCTYPE = b"<!DOCTYPE"
# It stands behind all rows, and to parse them twice would take half as long again.
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]{1,3}[0-9]{1,7}:[A-Z]{1,3}[0-9]{1,7})"')
_MOST_MERGED, _LONGEST_TAG_BYTES, _SEARCHED_BYTES = 1_000_000, 256, 256 * 1024


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
