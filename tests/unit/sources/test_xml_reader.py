"""XML of others is read within bounds, and what is wrong with it is one sentence."""

import codecs

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.reasons import Reason
from proofsweep.sources.xml_reader import MOST_BYTES, elements, local_name, root_of
from tests.unit.sources.held_file import HeldFile

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
HOSTILE = {
    "billion laughs": f'<!DOCTYPE a [<!ENTITY l0 "lol">{LAUGHS}]><a>&l9;</a>'.encode(),
    "laughs in UTF-16": f'<!DOCTYPE a [<!ENTITY l0 "lol">{LAUGHS}]><a>&l9;</a>'.encode("utf-16"),
    "external entity": b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    "entity without DTD": b"<a>&x;</a>",
    "deep nesting": b"<a>" * 100_000 + b"</a>" * 100_000,
    "too many elements": b"<a>" + b"<b/>" * 1_000_000 + b"</a>",
    "too many attributes": b"<a " + b"".join(b'a%d="" ' % n for n in range(900_000)) + b"/>",
    "empty": b"",
    "cut short": b"<a><b>",
    "wrong encoding": b'<?xml version="1.0" encoding="UTF-16"?><a/>',
    "unknown encoding": b'<?xml version="1.0" encoding="no-such"?><a>\xff</a>',
    "not UTF-8": b"<a>\xff\xfe\xfa</a>",
    "HTML": b"<!doctype html><html><body><p>Not found<br></body></html>",
}


def read(content: bytes, *names: str) -> list[str]:
    return [element.text or "" for element in elements(HeldFile(content), names or ("a", "b"))]


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_xml_is_one_sentence(content: bytes) -> None:
    """Nothing in XML of others leads to more than a short line, nor to a file or a network."""
    with pytest.raises(SourceError) as raised:
        read(content)

    assert raised.value.reason == Reason.UNREADABLE_MESSAGE
    assert raised.value.message.isprintable()
    assert raised.value.message.endswith(".")
    assert len(raised.value.message) < 250


def test_large_file_is_refused_by_its_size() -> None:
    """Of a file of 2 GB not one byte is read."""
    with pytest.raises(SourceError, match=r"It has 2,147,483,648 bytes; a message has at most 33,554,432"):
        list(elements(HeldFile(b"<a/>", 2 * 1024**3), ["a"]))

    assert MOST_BYTES == 33_554_432


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252", "shift_jis"])
def test_declared_encoding_is_read(encoding: str) -> None:
    """A message may be in any encoding that it declares, with or without a byte order mark."""
    word = "海" if encoding == "shift_jis" else "Élise"
    declared = encoding.removesuffix("-sig")

    content = f'<?xml version="1.0" encoding="{declared}"?><a><b>{word}</b></a>'.encode(encoding)

    assert read(content, "b") == [word]


def test_long_file_is_read_in_pieces() -> None:
    """An element may lie across two pieces; senders put the standard's namespace on the root alone, or on all."""
    body = b"".join(b"<b>%d</b>" % number for number in range(60_000))
    content = b'<x:a xmlns:x="u">' + body + b'<x:b>x</x:b><c xmlns="v"><b>v</b></c></x:a>'

    assert read(content, "b") == [*map(str, range(60_000)), "x", "v"]
    assert [local_name(each) for each in elements(HeldFile(content), ["c"])] == ["c"]


@pytest.mark.parametrize(
    ("head", "root"),
    [
        (b'<?xml version="1.0"?>\n<!-- <no/> --><ern:NewReleaseMessage xmlns:ern="u">', "NewReleaseMessage"),
        (codecs.BOM_UTF8 + b"<ManifestMessage/>", "ManifestMessage"),
        ('<?xml version="1.0" encoding="UTF-16"?><a/>'.encode("utf-16"), "a"),
        ("<a/>".encode("utf-16-le"), "a"),
        (b"<!DOCTYPE a><a>", "a"),
        (b"", None),
        (b"no XML < 3", None),
    ],
)
def test_root_is_known_from_the_first_bytes(head: bytes, root: str | None) -> None:
    """What a file is shows before it is read, also if it cannot be."""
    assert root_of(head) == root
