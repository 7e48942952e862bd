"""What XML beside audio says: a DDEX message (ERN 3.4 and later) of a release and its files, or a batch's manifest.

XML of others is read within bounds: without DTD, entities and network; what is wrong with it is one sentence.
"""

import codecs
import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from proofsweep.config.locations import one_line
from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import Declared, FileFacts, algorithm_named, hex_digest, raw_bytes
from proofsweep.domain.reasons import Reason
from proofsweep.sources.files import Files, refuse_unavailable
from proofsweep.sources.names import Cause
from proofsweep.sources.source import Folder, OpenFile

if TYPE_CHECKING:
    from lxml.etree import _Element


# 1,000 tracks with 200 elements each need some 12 MiB.
MOST_BYTES: Final = 32 * 1024 * 1024
# One for each `<` and three for each `=`: so many elements and attributes take at most 90 MiB of memory (measured).
MOST_MARKS: Final = 600_000
_PIECE_BYTES = 256 * 1024
_HEAD_BYTES = 16 * 1024  # a long comment may stand before the root element
_ROOT = re.compile(r"<(?![!?])(?:[^\s<>/:]+:)?([^\s<>/:]+)[^<>]*")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)

_NEW_RELEASE: Final = "NewReleaseMessage"
_PURGE: Final = "PurgeReleaseMessage"
_MANIFEST: Final = "ManifestMessage"
_ERN = re.compile(r"ddex\.net/+xml/+(?:\d{4}/+)?ern(?:-main)?/+v?(\d)(\d*)", re.IGNORECASE)
_MAJORS = frozenset({"3", "4"})

TAG_NAMES: Final = (
    *("isrc", "title", "artist", "release_title", "label", "icpn", "grid", "catalog_number"),
    *("sender", "message_id", "thread_id", "batch", "release"),
)
"""The tags that rows of a delivery may have; one whose value no message gives is left out."""

_SLASHES = "/\\"
_TRUE = frozenset({"true", "1"})
_NOT_DELIVERED = frozenset(("IsProvidedInDelivery", false) for false in ("false", "0"))
_CLIP = frozenset((flag, true) for flag in ("IsClip", "IsPreview") for true in _TRUE)
_AROUND_A_FILE = ("IsProvidedInDelivery", "IsClip", "IsPreview")
_MOST_DIGITS = 18
_SHOWN_LETTERS = 80
_SENTENCE_LETTERS = 160


class NamedFile(NamedTuple):
    """A file of a recording, as its message names it."""

    location: str  # as written
    item_id: str  # stays the same wherever the delivery lies
    declared: Declared | None
    tags: Mapping[str, str]  # of the recording or its edition


@dataclass(frozen=True, slots=True, kw_only=True)
class ErnMessage:
    location: str
    is_purge: bool
    is_test: bool
    sender: str  # its DPID, or its name if it gives none
    message_id: str
    thread_id: str
    created: float  # in POSIX seconds; 0 if that cannot be read
    ids: tuple[str, ...]  # of the release, each with its kind; its catalog number only if it has no other
    tags: Mapping[str, str]  # of the release and the message, by the names of the tags of rows; without empty ones
    files: tuple[NamedFile, ...] = ()  # that are delivered, as audio of recordings
    no_rows: tuple[tuple[str, Cause], ...] = ()  # locations of clips and of what is no audio

    @property
    def release_id(self) -> str:
        """Return what the release is known by; empty if the message gives no ID."""
        return self.ids[0].partition(":")[2] if self.ids else ""

    @property
    def order(self) -> tuple[float, str, str]:
        """Sort messages from the oldest to the newest; a purge without a date withdraws all."""
        return self.created or (float("inf") if self.is_purge else 0.0), self.message_id, self.location


@dataclass(frozen=True, slots=True, kw_only=True)
class XmlFile:
    location: str
    facts: FileFacts
    message: ErnMessage | None = None  # None if it is no message of a release, or cannot be read
    error: str | None = None  # why it is a message that cannot be read, in one sentence
    is_completion: bool = False  # says that a batch is complete; a manifest that is cut short does not

    @property
    def is_message(self) -> bool:
        return self.message is not None or self.error is not None


def is_completion_name(name: str) -> bool:
    """Whether a file says by its name alone that a batch is complete, such as `BatchComplete_<BatchId>.xml`."""
    return name.lower().startswith("batchcomplete")


def is_xml_name(name: str) -> bool:
    return name.lower().endswith(".xml")


def xml_in(folder: Folder, source: Files) -> Iterator[XmlFile]:
    """Yield the XML files in a folder; those whose content is something else are none."""
    for name in filter(is_xml_name, folder.files):
        location = posixpath.join(folder.location, name)
        if not is_completion_name(name) and (found := examine(location, source)):
            yield found


def examine(location: str, source: Files) -> XmlFile | None:
    """Look into a file whose name is that of XML; None if it is not XML.

    A file that cannot be opened, or has no root element, is a message that is broken if it has its folder's name, as
    messages do. SourceError if it cannot be read now: without its message, a delivery would be other files.
    """
    folder, name = map(posixpath.basename, posixpath.split(location))
    is_message = has_its_name = f"{folder}_".startswith(f"{posixpath.splitext(name)[0]}_")
    facts = FileFacts(0, "")
    try:
        with source.open(location) or nullcontext() as file:
            if file is None:
                return None
            facts, root = file.facts(), root_of(file.read_at(0, _HEAD_BYTES))
            is_other = root is not None and root.lower() != "html"
            is_message = root in {_NEW_RELEASE, _PURGE} or (has_its_name and not is_other)
            if is_message:
                return XmlFile(location=location, facts=facts, message=read_message(file, location))
            if root == _MANIFEST:
                read_xml(file)
    except SourceError as error:
        refuse_unavailable(error, location)
        if is_message or error.reason == Reason.UNREADABLE_MESSAGE:  # a manifest may be cut short: it is on its way
            return XmlFile(location=location, facts=facts, error=error.message if is_message else None)
        return None
    return XmlFile(location=location, facts=facts, is_completion=root == _MANIFEST) if is_other else None


def read_message(file: OpenFile, location: str) -> ErnMessage:
    """Read a message of a release; SourceError, `unreadable_message`, gives the reason in one sentence.

    Each path is that of one version of the standard or of several; what is not at one of them is not meant.
    """
    root = read_xml(file)
    is_purge = _is_purge(root)
    releases = [*root.iterfind("ReleaseList/Release"), *root.iterfind("PurgedRelease")]
    main = next((each for each in releases if each.get("IsMainRelease") in _TRUE), next(iter(releases), root))
    parties = {_text(each, "PartyReference"): _text(each, "PartyName/FullName") for each in root.iter("Party")}
    kinds = ("ICPN", "GRid", "ProprietaryId", "CatalogNumber")
    known = {kind: text for kind in kinds if (text := _text(main, f"ReleaseId/{kind}"))}
    number = known.pop("CatalogNumber", "")
    label = _text(main, "ReleaseDetailsByTerritory/LabelName") or parties.get(_text(main, "ReleaseLabelReference"), "")
    tags = {
        "release_title": _title_of(main),
        "label": label,
        "icpn": known.get("ICPN", ""),
        "grid": known.get("GRid", ""),
        "catalog_number": number,
        "sender": _text(root, "MessageHeader/MessageSender/PartyId", "MessageHeader/MessageSender/PartyName/FullName"),
        "message_id": _text(root, "MessageHeader/MessageId"),
        "thread_id": _text(root, "MessageHeader/MessageThreadId"),
    }
    ids = tuple(f"{kind}:{text}" for kind, text in (known or ({"CatalogNumber": number} if number else {})).items())
    is_test = _text(root, "MessageHeader/MessageControlType").lower() == "testmessage"
    release = next(iter(known.values()), number) or tags["thread_id"] or tags["message_id"]
    item_names = (*(("test",) if is_test else ()), tags["sender"], release)
    files: list[NamedFile] = []
    no_rows: list[tuple[str, Cause]] = []
    for resource in root.iterfind("ResourceList/*"):
        if resource.tag == "SoundRecording":
            files += _files_of(resource, parties, item_names, no_rows)
        else:
            others = filter(None, (_location_in(_leaves_of(each)) for each in resource.iter("File")))
            no_rows += ((other, Cause.NOT_AUDIO) for other in others)
    return ErnMessage(
        location=location,
        is_purge=is_purge,
        is_test=is_test,
        sender=tags["sender"],
        message_id=tags["message_id"],
        thread_id=tags["thread_id"],
        created=_posix_seconds(_text(root, "MessageHeader/MessageCreatedDateTime")),
        ids=ids,
        tags={name: text for name, text in tags.items() if text},
        files=tuple(files),
        no_rows=tuple(no_rows),
    )


def messages_named(file: OpenFile) -> Iterator[list[str]]:
    """Yield for each message that a batch's manifest names all words by which it may be known, its location first."""
    for element in read_xml(file).iter("MessageInBatch"):
        texts = {each.tag: (each.text or "").strip() for each in element.iter()}
        url = unquote(texts.pop("URL", "")).replace("\\", "/").strip("/")
        folders = [posixpath.splitext(part)[0] if is_xml_name(part) else part for part in url.split("/")]
        yield [text for text in (url, *folders, *texts.values()) if text]


def read_xml(file: OpenFile) -> "_Element":
    """Return the root of an XML file; all below it has its local name, since senders use namespaces as they like.

    SourceError: `unreadable_message` with the reason in one sentence; or the file cannot be read.
    """
    from lxml import etree  # noqa: PLC0415 - only for deliveries

    size = file.facts().size_bytes
    if size == 0:
        raise _unreadable("It is empty")
    if size > MOST_BYTES:
        raise _unreadable(f"It has {size:,} bytes; a message has at most {MOST_BYTES:,}")
    content = b"".join(file.pieces(_PIECE_BYTES))
    if content.count(b"<") + 3 * content.count(b"=") > MOST_MARKS:
        raise _unreadable("It has too many elements and attributes")
    if b"<!DOCTYPE" in content.replace(b"\0", b""):  # UTF-16 and UTF-32, too
        raise _unreadable("It has a DTD (DOCTYPE), which no message may have")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except (etree.LxmlError, LookupError, ValueError) as error:
        said = getattr(error, "msg", None) or str(error)
        is_deep = "xcessive depth" in said or "aximum element depth" in said
        words = f"It is no well-formed XML: {said[:_SENTENCE_LETTERS].rstrip('.')}"
        raise _unreadable("Its elements are nested too deeply" if is_deep else words) from error
    for each in root.xpath("descendant::*[namespace-uri()]"):
        each.tag = etree.QName(each).localname
    return root


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


def _unreadable(because: str) -> SourceError:
    return SourceError(f"{one_line(because)}.", reason=Reason.UNREADABLE_MESSAGE)


def _is_purge(root: "_Element") -> bool:
    """Return whether the message withdraws a release; SourceError if it is none of ERN 3 or 4."""
    tag: str = root.tag
    namespace, _, name = tag.rpartition("}")
    if name not in {_NEW_RELEASE, _PURGE}:
        raise _unreadable(f"Its root element is {name[:_SHOWN_LETTERS]}, not {_NEW_RELEASE} or {_PURGE}")
    found = _ERN.search(namespace)
    if found is None:
        shown = namespace[1:][:_SHOWN_LETTERS] or "none"
        raise _unreadable(f"Its namespace is {shown}, which is no version of ERN, the standard of such messages")
    if found[1] not in _MAJORS:
        raise _unreadable(f"It is of ERN {'.'.join((found[1], *found[2]))}; versions 3 and 4 can be read")
    return name == _PURGE


def _text(element: "_Element", *paths: str) -> str:
    """Return the first text that stands at one of the paths, in their order; empty if there is none."""
    texts = ((each.text or "").strip() for path in paths for each in element.iterfind(path))
    return next(filter(None, texts), "")


def _title_of(element: "_Element") -> str:
    title = _text(element, "DisplayTitleText", "ReferenceTitle/TitleText", "DisplayTitle/TitleText")
    further = _text(element, "ReferenceTitle/SubTitle", "DisplayTitle/SubTitle")
    return f"{title} ({further})" if further and further.casefold() not in title.casefold() else title


def _artist_of(recording: "_Element", parties: Mapping[str, str]) -> str:
    """Return the artists of the first territory that names some; others may name them in another script."""
    for place in (recording, *recording.iterfind("SoundRecordingDetailsByTerritory")):
        artists = {
            _text(each, "PartyName/FullName") or parties.get(_text(each, "ArtistPartyReference"), ""): None
            for each in place.iterfind("DisplayArtist")
        }
        if found := _text(place, "DisplayArtistName") or ", ".join(filter(None, artists)):
            return found
    return ""


def _files_of(
    recording: "_Element", parties: Mapping[str, str], item_names: Sequence[str], no_rows: list[tuple[str, Cause]]
) -> Iterator[NamedFile]:
    """Yield the delivered files of a recording and of its editions; clips and others become `no_rows`.

    An item ID is made of the sender, the release, the recording's reference in the message, and the location.
    """
    # Asked once for each element: a hostile recording may have a hundred thousand files.
    isrc_of, flags_of, resources = cache(_isrc_of), cache(_flags_of), recording.getparent()
    isrc, reference = isrc_of(recording), _text(recording, "ResourceReference")
    title, artist = _title_of(recording), _artist_of(recording, parties)
    for each in recording.iter("File"):
        around = takewhile(lambda above: above is not resources, each.iterancestors())
        flags = frozenset[tuple[str, str]]().union(*map(flags_of, around))
        location = _location_in(leaves := _leaves_of(each))
        if not location or not flags.isdisjoint(_NOT_DELIVERED):
            continue
        kind = _text(each.getparent(), "Type").lower() if each.getparent().tag == "DeliveryFile" else ""
        if kind and "audio" not in kind:
            no_rows.append((location, Cause.NOT_AUDIO))
        elif not flags.isdisjoint(_CLIP):
            no_rows.append((location, Cause.CLIPS))
        else:
            edition = next(each.iterancestors("SoundRecordingEdition"), recording)
            found = {"isrc": isrc_of(edition) or isrc, "title": title, "artist": artist}
            tags = {name: text for name, text in found.items() if text}
            item_id = hashlib.sha256(b"\0".join(map(raw_bytes, (*item_names, reference, location)))).hexdigest()[:32]
            yield NamedFile(location, item_id, _declared_in(leaves), tags)


def _isrc_of(element: "_Element") -> str:
    return _text(element, "SoundRecordingId/ISRC", "ResourceId/ISRC")


def _flags_of(element: "_Element") -> frozenset[tuple[str, str]]:
    leaves = element.iterchildren(*_AROUND_A_FILE)
    return frozenset((leaf.tag, (leaf.text or "").strip().lower()) for leaf in leaves)


def _leaves_of(file: "_Element") -> dict[str, str]:
    return {each.tag: text for each in file.iter() if (text := (each.text or "").strip())}


def _location_in(leaves: Mapping[str, str]) -> str:
    folder, name = leaves.get("FilePath"), leaves.get("FileName", "")
    name = f"{folder.rstrip(_SLASHES)}/{name}" if folder and name else name
    return leaves.get("URI") or leaves.get("URL") or name


def _declared_in(leaves: Mapping[str, str]) -> Declared | None:
    """Return what can be compared with the file; a digest of an unknown algorithm, or a malformed one, cannot."""
    size = leaves.get("FileSize", "")
    is_size = size.isascii() and size.isdigit() and len(size) <= _MOST_DIGITS
    algorithm = algorithm_named(leaves.get("Algorithm") or leaves.get("HashSumAlgorithmType", ""))
    written = leaves.get("HashSumValue") or leaves.get("HashSum", "")  # of ERN 3 the value has the name of its parent
    digest = hex_digest(algorithm, written) if algorithm else None
    digests = {algorithm: digest} if algorithm and digest else {}
    return Declared(size_bytes=int(size) if is_size else None, digests=digests) or None


def _posix_seconds(written: str) -> float:
    try:
        when = datetime.fromisoformat(written)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
