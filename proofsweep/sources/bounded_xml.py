"""Read XML of others within bounds: without DTD, entities and network; what is wrong with it is one sentence."""

import codecs
import re
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Final

from proofsweep.config.locations import one_line
from proofsweep.domain.errors import SourceError
from proofsweep.domain.reasons import Reason
from proofsweep.files.files import Files
from proofsweep.files.open_file import OpenFile

if TYPE_CHECKING:
    from lxml.etree import _Element

# 1,000 tracks with 200 elements each need some 12 MiB.
MOST_BYTES: Final = 32 * 1024 * 1024
# One for each `<` and three for each `=`: so many elements and attributes take at most 90 MiB of memory (measured).
MOST_MARKS: Final = 600_000
_PIECE_BYTES = 256 * 1024
HEAD_BYTES: Final = 16 * 1024  # a long comment may stand before the root element
_TAIL_BYTES = 4 * 1024  # comments and blanks may stand after it
_ROOT = re.compile(r"<(?![!?])(?:[^\s<>/:]+:)?([^\s<>/:]+)[^<>]*")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_SENTENCE_LETTERS = 160


def read_xml(file: OpenFile) -> "_Element":
    """Return the root of an XML file; all below it has its local name, since senders use namespaces as they like.

    SourceError: `unreadable_message` with the reason in one sentence; or the file cannot be read.
    """
    from lxml import etree  # noqa: PLC0415 - only for deliveries

    size = file.facts().size_bytes
    if size == 0:
        raise unreadable("It is empty")
    if size > MOST_BYTES:
        raise unreadable(f"It has {size:,} bytes; a message has at most {MOST_BYTES:,}")
    content = b"".join(file.pieces(_PIECE_BYTES))
    # A hostile file must cost little memory, so what would cost much is counted before it is parsed.
    if content.count(b"<") + 3 * content.count(b"=") > MOST_MARKS:
        raise unreadable("It has too many elements and attributes")
    if b"<!DOCTYPE" in content.replace(b"\0", b""):  # UTF-16 and UTF-32, too
        raise unreadable("It has a DTD (DOCTYPE), which no message may have")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except (etree.LxmlError, LookupError, ValueError) as error:
        said = getattr(error, "msg", None) or str(error)
        why = f"It is no well-formed XML: {said[:_SENTENCE_LETTERS].rstrip('.')}"
        if "xcessive depth" in said or "aximum element depth" in said:
            why = "Its elements are nested too deeply"
        raise unreadable(why) from error
    for element in root.xpath("descendant::*[namespace-uri()]"):
        element.tag = etree.QName(element).localname
    return root


def lacks_its_end(location: str, source: Files) -> bool:
    """Whether the end of the root element is not there, as of a file that is still being sent."""
    with suppress(SourceError), source.open(location) or nullcontext() as file:
        if file is None:
            return False
        size = file.facts().size_bytes
        if size == 0:
            return True
        root = _root_in(file.read_at(0, HEAD_BYTES))
        if root is None:
            return True
        if root[0].endswith("/"):  # it has no end tag
            return False
        tail = file.read_at(max(0, size - _TAIL_BYTES), _TAIL_BYTES)
        tail = tail.replace(b"\0", b"").replace(b" ", b"")  # UTF-16 and UTF-32, too
        end_tag = f"{root[1]}>".encode()
        return end_tag not in tail
    return False


def root_of(head: bytes) -> str | None:
    """Return the local name of the root element, by the first bytes of a file; None if none.

    It only guesses, so that a message that cannot be read is still known as one.
    """
    root = _root_in(head)
    return None if root is None else root[1]


def _root_in(head: bytes) -> re.Match[str] | None:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = head.decode("utf-16", "replace")
    else:
        text = head.replace(b"\0", b"").decode("latin-1")
    return _ROOT.search(_COMMENT.sub("", text))


def unreadable(because: str) -> SourceError:
    return SourceError(f"{one_line(because)}.", reason=Reason.UNREADABLE_MESSAGE)
