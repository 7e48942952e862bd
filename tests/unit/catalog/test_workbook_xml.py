"""A part is read in pieces, and its elements are handed on without their namespaces."""

import io

import pytest

from proofsweep.catalog import workbook_xml
from proofsweep.catalog.workbook_xml import Attributes, Elements, attribute, read_xml


class Seen(Elements):
    """Keeps all that it takes."""

    def __init__(self) -> None:
        self.all: list[object] = []

    def begin(self, element: str, attributes: Attributes) -> None:
        """Keep the attribute `id` of any namespace."""
        self.all.append((element, attribute(attributes, "id")))

    def end(self, element: str) -> None:
        """Keep the name."""
        self.all.append(element)

    def text(self, text: str) -> None:
        """Keep the text."""
        self.all.append(text)


def test_elements_come_without_their_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """However short the pieces are."""
    monkeypatch.setattr(workbook_xml, "_PIECE_BYTES", 7)
    seen = Seen()

    pieces = list(read_xml(io.BytesIO(b'<x:a xmlns:x="n" x:id="1"><b id="2">t\xc3\xa4</b><c/></x:a>'), seen))

    assert seen.all[0] == ("a", "1")
    assert "".join(each for each in seen.all if isinstance(each, str)) == "täbca"
    assert len(pieces) > 5


def test_who_takes_nothing_reads_to_the_end() -> None:
    """What is wrong is found all the same."""
    assert list(read_xml(io.BytesIO(b"<a/>"), Elements())) == [None, None]
    with pytest.raises(ValueError, match="a part of it is no XML"):
        list(read_xml(io.BytesIO(b"<a>"), Elements()))
    with pytest.raises(ValueError, match="a part of it is no XML"):
        list(read_xml(io.BytesIO(b""), Elements()))
