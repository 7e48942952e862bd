"""Whatever a ZIP archive holds, only a little of a part is in memory."""

import io
from functools import partial
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZipFile

import pytest

from proofsweep.sources import workbook
from proofsweep.sources.workbook import WorkbookArchive


def archive(content: bytes, kind: int = ZIP_DEFLATED) -> io.BytesIO:
    """Pack one part."""
    file = io.BytesIO()
    with ZipFile(file, "w", kind) as packed:
        packed.writestr("a.xml", content)
    return file


def test_elements_come_one_by_one() -> None:
    """Up to the end of their parent: what follows is not even parsed. The element that came before is empty then."""
    part = WorkbookArchive(archive(b"<x><p><b n='1'><c/></b><b n='2'><c/></b></p>" + b"<" * 100)).part("a.xml")

    elements = []
    for element in part.elements("p", "b"):
        assert len(element) == 1
        elements.append(element)

    assert [element.get("n") for element in elements] == ["1", "2"]


def test_a_part_is_long_but_its_pieces_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred thousand rows are read, one endless row is not, be it of elements or of text."""
    monkeypatch.setattr(workbook, "_MOST_PIECE_BYTES", 50_000)
    rows = b"<p>" + b"<b/>" * 100_000 + b"</p>"

    assert sum(1 for _ in WorkbookArchive(archive(rows)).part("a.xml").elements("p", "b")) == 100_000
    for endless in (
        b"<p><b>" + b"<c/>" * 100_000,
        b"<p>" * 100_000,
        b"<p><b>" + b"x" * 200_000,
        b"<p><b c='" + b"x" * 200_000,
    ):
        with pytest.raises(ValueError, match=r"its part a.xml has a piece of more than 50,000 bytes: export it as CSV"):
            list(WorkbookArchive(archive(endless)).part("a.xml").elements("p", "b"))


def test_elements_are_counted_at_any_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of many elements take hours, and are few."""
    monkeypatch.setattr(workbook, "_MOST_ELEMENTS", 1_000)
    part = WorkbookArchive(archive(b"<p>" + b"<b><c><d/></c></b>" * 1_000 + b"</p>")).part("a.xml")

    with pytest.raises(ValueError, match=r"its part a.xml has more than 1,000 elements: export it as CSV"):
        list(part.elements("p", "b"))


def test_a_part_that_is_too_large_is_not_unpacked() -> None:
    """Its size stands in the archive, and no more is unpacked than stands there."""
    packed = WorkbookArchive(archive(b" " * 5_000_000))

    with pytest.raises(ValueError, match=r"a.xml has 5,000,000 bytes, and at most 1,000 are read: export it as CSV"):
        packed.part("a.xml", 1_000)
    with pytest.raises(ValueError, match="at most 4,194,304 are read"):
        packed.read("a.xml")


def test_a_document_type_is_seen_between_two_reads() -> None:
    """Also as UTF-16."""
    for text in (b"<?xml version='1.0'?><!DOCTYPE a>", "<!DOCTYPE a>".encode("utf-16-le")):
        part = WorkbookArchive(archive(text)).part("a.xml")

        with pytest.raises(ValueError, match="declares a document type"):
            list(iter(partial(part.read, 7), b""))


def test_a_password_and_other_packings_are_refused() -> None:
    """Unpacking some of them takes memory that the file chooses."""
    locked = bytearray(archive(b"<a/>").getvalue())
    locked[locked.find(b"PK\x01\x02") + 8] |= 1

    with pytest.raises(ValueError, match="it is not packed as workbooks are"):
        WorkbookArchive(archive(b"<a/>", ZIP_LZMA)).read("a.xml")
    with pytest.raises(ValueError, match="it has a password: save it without one"):
        WorkbookArchive(io.BytesIO(bytes(locked))).read("a.xml")
