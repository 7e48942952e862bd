"""Read XML that others wrote, streamed and bounded: no DTD, no entity, no network; an error is one sentence."""

import codecs
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from proofsweep.config.locations import one_line
from proofsweep.domain.errors import SourceError
from proofsweep.domain.reasons import Reason
from proofsweep.sources.source import OpenFile

if TYPE_CHECKING:
    from lxml.etree import _Element


# 1,000 tracks with 200 elements each need some 12 MiB.
MOST_BYTES: Final = 32 * 1024 * 1024
# One for each `<` and three for each `=`: so many elements and attributes take at most 90 MiB of memory (measured).
MOST_MARKS: Final = 600_000
_PIECE_BYTES = 256 * 1024
HEAD_BYTES = 16 * 1024  # a long comment may stand before the root element
_SENTENCE_LETTERS = 160
_ROOT = re.compile(r"<(?![!?])(?:[^\s<>/:]+:)?([^\s<>/:]+)[^<>]*")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_HAS_DTD = "It has a DTD (DOCTYPE), which no message may have"


def unreadable(because: str) -> SourceError:
    """Return why a message cannot be read; `because` is a sentence without its end."""
    return SourceError(f"{one_line(because)}.", reason=Reason.UNREADABLE_MESSAGE)


def local_name(element: "_Element") -> str:
    name: str = element.tag
    return name.rpartition("}")[2] if name[0] == "{" else name


def elements(file: OpenFile, names: Collection[str]) -> Iterator["_Element"]:
    """Yield each element of these local names when it ends; the receiver may clear it.

    Raises SourceError: `unreadable_message` with the reason in one sentence; or the file cannot be read.
    """
    from lxml import etree  # noqa: PLC0415 - only for deliveries

    parser = etree.XMLPullParser(
        ("end",),
        tag=[f"{{*}}{name}" for name in names],
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        remove_blank_text=True,
        collect_ids=False,
    )
    try:
        for piece in _pieces(file):
            parser.feed(piece)
            for number, (_, element) in enumerate(parser.read_events()):
                # Of a rare encoding, the bytes did not show it.
                if number == 0 and element.getroottree().docinfo.internalDTD is not None:
                    raise unreadable(_HAS_DTD)
                yield element
        parser.close()
    except (etree.LxmlError, LookupError, ValueError) as error:
        raise unreadable(_sentence(getattr(error, "msg", None) or str(error))) from error


def _pieces(file: OpenFile) -> Iterator[bytes]:
    """Yield the file's content, and refuse what is too large or has a DTD before the parser sees it."""
    size = file.facts().size_bytes
    if size == 0:
        raise unreadable("It is empty")
    if size > MOST_BYTES:
        raise unreadable(f"It has {size:,} bytes; a message has at most {MOST_BYTES:,}")
    marks, before = 0, b""
    for piece in file.pieces(_PIECE_BYTES):
        marks += piece.count(b"<") + 3 * piece.count(b"=")
        if marks > MOST_MARKS:
            raise unreadable("It has too many elements and attributes")
        plain = (before + piece).replace(b"\0", b"")  # UTF-16 and UTF-32, too
        if b"<!DOCTYPE" in plain or b"<!ENTITY" in plain:
            raise unreadable(_HAS_DTD)
        before = piece[-64:]
        yield piece


def _sentence(error: str) -> str:
    if "xcessive depth" in error or "aximum element depth" in error:
        return "Its elements are nested too deeply"
    return f"It is no well-formed XML: {error[:_SENTENCE_LETTERS].rstrip('.')}"


def root_of(head: bytes) -> str | None:
    """Return the local name of the root element, by the first bytes of a file; None if none.

    It only guesses, so that a message that cannot be read is still known as one.
    """
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = head.decode("utf-16", "replace")
    else:
        text = head.replace(b"\0", b"").decode("latin-1")
    root = _ROOT.search(_COMMENT.sub("", text))
    return None if root is None else root[1]
