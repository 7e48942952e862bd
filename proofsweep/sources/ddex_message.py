"""What XML beside audio says: a DDEX message (ERN 3.4 and later) of a release and its files, or a batch's manifest.

XML of others is read within bounds: without DTD, entities and network; what is wrong with it is one sentence.
"""

import codecs
import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from proofsweep.config.locations import one_line
from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import Declared, FileFacts, algorithm_named, hex_digest, raw_bytes
from proofsweep.domain.reasons import Reason
from proofsweep.sources.files import Files
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

_OF_RECORDING = ("isrc", "title", "artist")
_OF_RELEASE = ("release_title", "label", "icpn", "grid", "catalog_number", "sender", "message_id", "thread_id")
TAG_NAMES: Final = (*_OF_RECORDING, *_OF_RELEASE, "batch", "release")
"""The tags that rows of a delivery may have; one whose value no message gives is left out."""

_SLASHES = "/\\"
_TRUE = frozenset({"true", "1"})
_NOT_DELIVERED = frozenset(("IsProvidedInDelivery", false) for false in ("false", "0"))
_CLIP = frozenset((flag, true) for flag in ("IsClip", "IsPreview") for true in _TRUE)
_AROUND_A_FILE = ("IsProvidedInDelivery", "IsClip", "IsPreview")
_MOST_DIGITS = 18
_SHOWN_LETTERS = 80
_SENTENCE_LETTERS = 160


class MessageFile(NamedTuple):
    """A file that a recording is in; all as the message writes it."""

    location: str
    size_bytes: str = ""
    algorithm: str = ""
    digest: str = ""

    @property
    def declared(self) -> Declared | None:
        """Return what can be compared with the file; a digest of an unknown algorithm, or a malformed one, cannot."""
        algorithm = algorithm_named(self.algorithm)
        digest = None if algorithm is None else hex_digest(algorithm, self.digest)
        is_size = self.size_bytes.isascii() and self.size_bytes.isdigit() and len(self.size_bytes) <= _MOST_DIGITS
        digests = {} if algorithm is None or digest is None else {algorithm: digest}
        return Declared(size_bytes=int(self.size_bytes) if is_size else None, digests=digests) or None


class Recording(NamedTuple):
    """A sound recording; of one with several editions, each edition is one."""

    reference: str
    isrc: str
    title: str
    artist: str
    files: tuple[MessageFile, ...]


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
    recordings: tuple[Recording, ...] = ()
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
class Naming:
    item_id: str
    file: MessageFile
    tags: Mapping[str, str]  # without those of the batch and the release's folder
    message: ErnMessage


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
    """Look into a file whose name is that of XML; None if it is not XML, or cannot be opened.

    A file without a root element is a message that is broken if it has its folder's name, as messages do.
    """
    try:
        file = source.open(location)
    except SourceError:
        return None
    if file is None:
        return None
    with file:
        try:
            facts, root = file.facts(), root_of(file.read_at(0, _HEAD_BYTES))
            is_other = root is not None and root.lower() != "html"
            folder, name = map(posixpath.basename, posixpath.split(location))
            has_its_name = f"{folder}_".startswith(f"{posixpath.splitext(name)[0]}_")
            if root in {_NEW_RELEASE, _PURGE} or (has_its_name and not is_other):
                return XmlFile(location=location, facts=facts, message=read_message(file, location))
            if root == _MANIFEST:
                read_xml(file)
        except SourceError as error:
            if error.reason != Reason.UNREADABLE_MESSAGE:
                return None
            is_message = root != _MANIFEST  # a manifest that is cut short may still be on its way
            return XmlFile(location=location, facts=facts, error=error.message if is_message else None)
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
    recordings: list[Recording] = []
    no_rows: list[tuple[str, Cause]] = []
    for resource in root.iterfind("ResourceList/*"):
        if resource.tag == "SoundRecording":
            recordings += _recordings_of(resource, parties, no_rows)
        else:
            others = filter(None, map(_file, resource.iter("File")))
            no_rows += ((other.location, Cause.NOT_AUDIO) for other in others)
    return ErnMessage(
        location=location,
        is_purge=is_purge,
        is_test=_text(root, "MessageHeader/MessageControlType").lower() == "testmessage",
        sender=tags["sender"],
        message_id=tags["message_id"],
        thread_id=tags["thread_id"],
        created=_posix_seconds(_text(root, "MessageHeader/MessageCreatedDateTime")),
        ids=tuple(f"{kind}:{text}" for kind, text in (known or ({"CatalogNumber": number} if number else {})).items()),
        tags={name: text for name, text in tags.items() if text},
        recordings=tuple(recordings),
        no_rows=tuple(no_rows),
    )


def messages_named(file: OpenFile) -> Iterator[list[str]]:
    """Yield for each message that a batch's manifest names all words by which it may be known, its location first."""
    for element in read_xml(file).iter("MessageInBatch"):
        texts = {each.tag: (each.text or "").strip() for each in element.iter()}
        url = unquote(texts.pop("URL", "")).replace("\\", "/").strip("/")
        folders = [posixpath.splitext(part)[0] if is_xml_name(part) else part for part in url.split("/")]
        yield [text for text in (url, *folders, *texts.values()) if text]


def named(message: ErnMessage) -> Iterator[Naming]:
    """Yield each file that a message names, once for each recording."""
    for recording in message.recordings:
        tags = {name: getattr(recording, name) for name in _OF_RECORDING} | dict(message.tags)
        tags = {name: tags[name] for name in TAG_NAMES if tags.get(name)}
        for file in dict.fromkeys(recording.files):
            item_id = item_id_for(message, recording.reference, file.location)
            yield Naming(item_id=item_id, file=file, tags=tags, message=message)


def item_id_for(message: ErnMessage, reference: str, written: str) -> str:
    """Return an item ID that stays the same wherever the delivery lies: 32 hex digits.

    It is made of the sender, the release, the recording's reference in the message, and the location as written there.
    """
    release = message.release_id or message.thread_id or message.message_id
    parts = (*(("test",) if message.is_test else ()), message.sender, release, reference, written)
    return hashlib.sha256(b"\0".join(map(raw_bytes, parts))).hexdigest()[:32]


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
    """Return why a message cannot be read; `because` is a sentence without its end."""
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
    for path in paths:
        places = [element]
        for name in path.split("/"):
            places = [each for place in places for each in place.iterchildren(name)]
        if text := next(filter(None, ((each.text or "").strip() for each in places)), ""):
            return text
    return ""


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


def _recordings_of(
    element: "_Element", parties: Mapping[str, str], no_rows: list[tuple[str, Cause]]
) -> Iterator[Recording]:
    """Yield a recording, or each of its editions, with the files that are delivered; clips and others are no rows."""
    editions = element.findall("SoundRecordingEdition")
    files: dict[_Element, list[MessageFile]] = {each: [] for each in (*editions, element)}
    for each in element.iter("File"):
        leaves = [leaf for above in each.iterancestors() for leaf in above.iterchildren(*_AROUND_A_FILE)]
        file = _file(each)
        flags = {(leaf.tag, (leaf.text or "").strip().lower()) for leaf in leaves}
        if file is None or not flags.isdisjoint(_NOT_DELIVERED):
            continue
        kind = _text(each.getparent(), "Type").lower() if each.getparent().tag == "DeliveryFile" else ""
        if kind and "audio" not in kind:
            no_rows.append((file.location, Cause.NOT_AUDIO))
        elif not flags.isdisjoint(_CLIP):
            no_rows.append((file.location, Cause.CLIPS))
        else:
            files[next(each.iterancestors("SoundRecordingEdition"), element)].append(file)
    own, reference = _isrc_of(element), _text(element, "ResourceReference")
    title, artist = _title_of(element), _artist_of(element, parties)
    for place, found in files.items():
        if found or place is not element or not editions:
            yield Recording(reference, _isrc_of(place) or own, title, artist, tuple(found))


def _isrc_of(element: "_Element") -> str:
    return _text(element, "SoundRecordingId/ISRC", "ResourceId/ISRC")


def _file(element: "_Element") -> MessageFile | None:
    leaves = {each.tag: text for each in element.iter() if (text := (each.text or "").strip())}
    folder, name = leaves.get("FilePath"), leaves.get("FileName", "")
    name = f"{folder.rstrip(_SLASHES)}/{name}" if folder and name else name
    location = leaves.get("URI") or leaves.get("URL") or name
    digest = leaves.get("HashSumValue") or leaves.get("HashSum", "")  # of ERN 3 the value has the name of its parent
    algorithm = leaves.get("Algorithm") or leaves.get("HashSumAlgorithmType", "")
    return MessageFile(location, leaves.get("FileSize", ""), algorithm, digest) if location else None


def _posix_seconds(written: str) -> float:
    try:
        when = datetime.fromisoformat(written)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
