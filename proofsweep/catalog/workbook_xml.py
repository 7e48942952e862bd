"""Read the XML of a workbook's parts in pieces: whatever a part holds, only a little of it is in memory."""

from collections.abc import Iterator, Mapping
from typing import IO
from xml.parsers import expat

# Chosen: a piece is short, so that the rows of one piece are few, whatever its cells refer to.
_PIECE_BYTES = 16 * 1024
# Chosen: no part that a spreadsheet writes nests more elements, or has a tag that is so long.
_MOST_DEPTH = 64
_MOST_TAG_BYTES = 1024 * 1024

Attributes = Mapping[str, str]


class Elements:
    """Takes the elements and the text of a part; by default nothing of them. Names have no namespace."""

    def begin(self, element: str, attributes: Attributes, /) -> None:
        """Take the begin of an element."""

    def end(self, element: str) -> None:
        """Take the end of an element."""

    def text(self, text: str) -> None:
        """Take a piece of the text in the element that began last."""


def read_xml(part: IO[bytes], elements: Elements) -> Iterator[None]:
    """Hand the elements of a part on, and yield after each piece.

    Raises:
        ValueError: it is no XML, or such as no spreadsheet writes.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    depth = fed = 0

    def begun(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MOST_DEPTH:
            raise ValueError("its elements nest too deep")
        elements.begin(name.rpartition(" ")[2], attributes)

    def ended(name: str) -> None:
        nonlocal depth
        depth -= 1
        elements.end(name.rpartition(" ")[2])

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = begun, ended, elements.text
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        while piece := part.read(_PIECE_BYTES):
            parser.Parse(piece)
            fed += len(piece)
            if fed - parser.CurrentByteIndex > _MOST_TAG_BYTES:
                raise ValueError("it has a tag of more than a mebibyte")
            yield
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise ValueError(f"a part of it is no XML: {error}") from error
    yield


def _refuse_doctype(*_: object) -> None:
    raise ValueError("it declares a document type, which no spreadsheet does")


def attribute(attributes: Attributes, name: str) -> str | None:
    """Return an attribute of any namespace; None if there is none."""
    if name in attributes:
        return attributes[name]
    return next((value for each, value in attributes.items() if each.rpartition(" ")[2] == name), None)
