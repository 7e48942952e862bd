"""What XML beside audio says: a DDEX message (ERN 3.4 and later) of a release and its files, or a batch's manifest."""

import hashlib
import posixpath
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from proofsweep.config.locations import one_line
from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.items import Declared, FileFacts, algorithm_named, hex_digest, raw_bytes
from proofsweep.domain.reasons import Reason
from proofsweep.sources.files import Files
from proofsweep.sources.source import Folder, OpenFile
from proofsweep.sources.xml_reader import HEAD_BYTES, elements, local_name, root_of, unreadable

if TYPE_CHECKING:
    from lxml.etree import _Element


_NEW_RELEASE: Final = "NewReleaseMessage"
_PURGE: Final = "PurgeReleaseMessage"
_MANIFEST: Final = "ManifestMessage"
_OTHER_XML = {
    "acknowledgementmessage": "a DDEX acknowledgement, which names no audio: give the message of a release",
    "ftpacknowledgementmessage": "a DDEX acknowledgement, which names no audio: give the message of a release",
    "cataloglistmessage": "a DDEX catalog list, which names no files: give the message of a release",
    "manifestmessage": "the manifest of a DDEX batch: give the batch's folder",
    "html": "an HTML page, and no DDEX message: ask the supplier to send the message again",
}

_OF_RECORDING = ("isrc", "title", "artist")
_OF_RELEASE = ("release_title", "label", "icpn", "grid", "catalog_number", "sender", "message_id", "thread_id")
TAG_NAMES: Final = (*_OF_RECORDING, *_OF_RELEASE, "resource", "technical", "batch", "release")
"""The tags that rows of a delivery may have; one whose value no message gives is left out."""

_ERN = re.compile(r"ddex\.net/+xml/+(?:\d{4}/+)?ern(?:-main)?/+v?(\d)(\d*)", re.IGNORECASE)
_MAJORS = frozenset({"3", "4"})
_TITLES = {f"{of}/{title}" for of in ("SoundRecording", "Release") for title in ("ReferenceTitle", "DisplayTitle")}
_IDS = {"Release/ReleaseId", "PurgedRelease/ReleaseId"}
_FLAGGED = {"DeliveryFile", "TechnicalSoundRecordingDetails", "TechnicalDetails", "SoundRecordingEdition"}
_OF_HEADER = ("MessageThreadId", "MessageId", "MessageCreatedDateTime", "MessageControlType")
_TECHNICAL = {"TechnicalSoundRecordingDetails", "TechnicalDetails"}

_WITHIN: Final[Mapping[str, set[str]]] = {
    **{key: {"MessageHeader"} for key in _OF_HEADER},
    "PartyId": {"MessageSender"},
    "FullName": {"MessageSender/PartyName", "Party/PartyName", "DisplayArtist/PartyName"},
    "PartyReference": {"Party"},
    "ISRC": {"SoundRecording/SoundRecordingId", "SoundRecording/ResourceId", "SoundRecordingEdition/ResourceId"},
    "ResourceReference": {"SoundRecording"},
    "TitleText": _TITLES,
    "SubTitle": _TITLES,
    "DisplayTitleText": {"SoundRecording", "Release"},
    "DisplayArtistName": {"SoundRecording", "SoundRecordingDetailsByTerritory"},
    "ArtistPartyReference": {"SoundRecording/DisplayArtist"},
    **dict.fromkeys(("ICPN", "GRid", "ProprietaryId", "CatalogNumber"), _IDS),
    "LabelName": {"ReleaseDetailsByTerritory"},
    "ReleaseLabelReference": {"Release"},
    **{key: {"File"} for key in ("FileName", "FilePath", "URL", "URI", "FileSize")},
    **{key: {"HashSum"} for key in ("Algorithm", "HashSumAlgorithmType", "HashSumValue")},
    "HashSum": {"HashSum"},  # of ERN 3 the value has the name of what holds it
    "Type": {"DeliveryFile"},
    **dict.fromkeys(("IsClip", "IsPreview", "IsProvidedInDelivery"), _FLAGGED | {"SoundRecording"}),
    "TechnicalResourceDetailsReference": _TECHNICAL,
}
"""Each leaf that is read, and in what it must stand: a parent, or a parent with its own."""

_OF_FILE = frozenset(name for name, within in _WITHIN.items() if within <= {"File", "HashSum"})
_SLASHES = "/\\"
_TRUE = frozenset({"true", "1"})
_FLAGS = frozenset({"IsClip", "IsPreview", "IsProvidedInDelivery", "Type"})
_LEVELS = ("DeliveryFile", "Technical", "SoundRecordingEdition", "SoundRecording")
"""What files stand in, from the inside out."""
_MOST_DIGITS = 18
_SHOWN_LETTERS = 80


class MessageFile(NamedTuple):
    """A file that a recording is in; all as the message writes it."""

    location: str
    technical: str = ""
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
    has_files: bool  # whether it names audio; an update of the metadata alone does not
    recordings: tuple[Recording, ...] = ()
    clips: tuple[str, ...] = ()  # locations of previews
    others: tuple[str, ...] = ()  # and of images, videos, texts and other resources

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
    message: ErnMessage  # the newest one that names it


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


def xml_in(folder: Folder, source: Files, only: str | None = None) -> Iterator[XmlFile]:
    """Yield the XML files in a folder, or the one that is meant; those whose content is something else are none."""
    for name in filter(is_xml_name, folder.files):
        location = posixpath.join(folder.location, name)
        if not is_completion_name(name) and only in {None, location} and (found := examine(location, source)):
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
            facts, root = file.facts(), root_of(file.read_at(0, HEAD_BYTES))
            is_other = root is not None and root.lower() != "html"
            if root == _MANIFEST:
                return XmlFile(location=location, facts=facts, is_completion=_is_whole(file))
            folder, name = map(posixpath.basename, posixpath.split(location))
            has_its_name = f"{folder}_".startswith(f"{posixpath.splitext(name)[0]}_")
            if root in {_NEW_RELEASE, _PURGE} or (has_its_name and not is_other):
                return XmlFile(location=location, facts=facts, message=read_message(file, location))
        except SourceError as error:
            is_broken = error.reason == Reason.UNREADABLE_MESSAGE
            return XmlFile(location=location, facts=file.facts(), error=error.message) if is_broken else None
    return XmlFile(location=location, facts=facts) if is_other else None


def refuse_other_xml(location: str, file: OpenFile) -> bool:
    """Return whether an XML file is the message of a release; CatalogError says which other one it is."""
    root = root_of(file.read_at(0, HEAD_BYTES))
    if root is not None and (words := _OTHER_XML.get(root.lower())) is not None:
        raise CatalogError(f"{one_line(location)}: this is {words}")
    if root not in {None, _NEW_RELEASE, _PURGE}:
        return False
    try:
        read_message(file, location)
    except SourceError as error:
        if error.reason != Reason.UNREADABLE_MESSAGE:
            raise
        because = error.message.rstrip(".")
        raise CatalogError(f"{one_line(location)}: {because}: ask the supplier to send the message again") from error
    return True


def read_message(file: OpenFile, location: str) -> ErnMessage:
    """Read a message of a release; SourceError, `unreadable_message`, gives the reason in one sentence."""
    reader, is_purge = _Reader(), None
    for element in elements(file, _NAMES):
        if is_purge is None:
            is_purge = _is_purge(element.getroottree().getroot())
        name = local_name(element)
        if name in _WITHIN:
            reader.take_leaf(name, element)
        else:
            reader.is_main = element.get("IsMainRelease") in _TRUE
            _ENDINGS[name](reader)
            element.clear()
    if is_purge is None:
        raise unreadable("It holds no header, release or resource of a message")
    return reader.message(location, is_purge=is_purge)


def messages_named(file: OpenFile) -> Iterator[list[str]]:
    """Yield for each message that a batch's manifest names all words by which it may be known, its location first."""
    for element in elements(file, ["MessageInBatch"]):
        texts = {local_name(each): (each.text or "").strip() for each in element.iter()}
        url = unquote(texts.pop("URL", "")).replace("\\", "/").strip("/")
        folders = [posixpath.splitext(part)[0] if is_xml_name(part) else part for part in url.split("/")]
        yield [text for text in (url, *folders, *texts.values()) if text]
        element.clear()


def named(message: ErnMessage, newest: ErnMessage) -> Iterator[Naming]:
    """Yield each file that a message names, once; the newest message of the release gives its metadata."""
    newer = {_identity(each): each for each in reversed(newest.recordings)} if newest is not message else {}
    seen: set[tuple[str, str]] = set()
    for recording in message.recordings:
        latest = newer.get(_identity(recording), recording)
        of_recording = {name: getattr(latest, name) for name in _OF_RECORDING} | {"resource": recording.reference}
        for file in recording.files:
            if (recording.reference, file.location) not in seen:
                seen.add((recording.reference, file.location))
                tags = {**of_recording, **newest.tags, "technical": file.technical}
                item_id = item_id_for(message, recording.reference, file.location)
                tags = {name: tags[name] for name in TAG_NAMES if tags.get(name)}
                yield Naming(item_id=item_id, file=file, tags=tags, message=message)


def item_id_for(message: ErnMessage, reference: str, written: str) -> str:
    """Return an item ID that stays the same wherever the delivery lies: 32 hex digits.

    It is made of the sender, the release, the recording's reference in the message, and the location as written there.
    """
    release = message.release_id or message.thread_id or message.message_id
    parts = (*(("test",) if message.is_test else ()), message.sender, release, reference, written)
    return hashlib.sha256(b"\0".join(map(raw_bytes, parts))).hexdigest()[:32]


def _identity(recording: Recording) -> str:
    """Return by what a recording is known again in a later message: its ISRC, or its reference if it has none."""
    return f"isrc:{recording.isrc}" if recording.isrc else f"reference:{recording.reference}"


class _Reader:
    """Collects what the elements say, each when it ends: first the leaves, then what they stand in."""

    def __init__(self) -> None:
        self.is_main = False
        self.leaves: dict[str, str] = {}
        self._header: dict[str, str] = {}
        self._release: dict[str, str] = {}
        self._parties: dict[str, str] = {}
        self._artists: dict[str, None] = {}
        self._file: dict[str, str] = {}
        self._flags: dict[str, set[str]] = {}
        self._starts = dict.fromkeys(_LEVELS, 0)
        self._files: list[MessageFile] = []
        self._editions: list[tuple[str, tuple[MessageFile, ...]]] = []
        self._recordings: list[Recording] = []
        self._clips: list[str] = []
        self._others: list[str] = []

    def take_leaf(self, name: str, element: "_Element") -> None:
        parent, text = element.getparent(), (element.text or "").strip()
        if parent is None or not text:
            return
        within, places = local_name(parent), _WITHIN[name]
        if within not in places:
            above = parent.getparent()
            if above is None or f"{local_name(above)}/{within}" not in places:
                return
        if name in _OF_FILE:
            self._file.setdefault(name, text)
        elif name in _FLAGS:
            self._take_flag(name, text.lower(), "Technical" if within in _TECHNICAL else within)
        elif name == "ArtistPartyReference":
            self._artists[self._parties.get(text, "")] = None
        elif name == "FullName" and parent.getparent().tag.endswith("DisplayArtist"):
            self._artists[text] = None
        else:
            self.leaves.setdefault(name, text)

    def _take_flag(self, name: str, text: str, level: str) -> None:
        is_other = name == "Type" and "audio" not in text
        is_clip = name in {"IsClip", "IsPreview"} and text in _TRUE
        if is_clip or is_other or (name == "IsProvidedInDelivery" and text in {"false", "0"}):
            self._flags.setdefault(level, set()).add(name)

    def end_file(self) -> None:
        file, self._file = self._file, {}
        folder, name = file.get("FilePath"), file.get("FileName", "")
        name = f"{folder.rstrip(_SLASHES)}/{name}" if folder and name else name
        location = file.get("URI") or file.get("URL") or name
        if location:
            digest = file.get("HashSumValue") or file.get("HashSum", "")
            algorithm = file.get("Algorithm") or file.get("HashSumAlgorithmType", "")
            technical = self.leaves.get("TechnicalResourceDetailsReference", "")
            self._files.append(MessageFile(location, technical, file.get("FileSize", ""), algorithm, digest))

    def end_level(self, level: str) -> None:
        """Take away the files since the last end of this level, if a flag says that they are no audio of this one."""
        flags, start = self._flags.pop(level, set()), self._starts[level]
        if flags:
            locations = [file.location for file in self._files[start:]]
            del self._files[start:]
            if "IsProvidedInDelivery" not in flags:
                (self._others if "Type" in flags else self._clips).extend(locations)
        for each in _LEVELS[: _LEVELS.index(level) + 1]:
            self._starts[each] = len(self._files)
        if level == "Technical":
            self.leaves.pop("TechnicalResourceDetailsReference", None)

    def end_edition(self) -> None:
        self.end_level("SoundRecordingEdition")
        self._editions.append((self.leaves.pop("ISRC", ""), tuple(self._files)))
        self._forget_files()

    def end_territory(self) -> None:
        """Keep the artists of the first territory that names some; others may name them in another script."""
        if self._artists:
            self.leaves.setdefault("Artists", ", ".join(filter(None, self._artists)))
            self._artists = {}

    def end_recording(self) -> None:
        self.end_territory()
        if "IsProvidedInDelivery" in (flags := self._flags.get("SoundRecording", set())):
            self._editions = [(isrc, ()) for isrc, _ in self._editions]
        elif flags:
            self._clips += (file.location for _, files in self._editions for file in files)
            self._editions = []
        self.end_level("SoundRecording")
        leaves, title = self.leaves, _title_in(self.leaves)
        artist = leaves.get("DisplayArtistName") or leaves.get("Artists", "")
        if self._files or not self._editions:
            self._editions.append((leaves.get("ISRC", ""), tuple(self._files)))
        reference, own = leaves.get("ResourceReference", ""), leaves.get("ISRC", "")
        self._recordings += (Recording(reference, isrc or own, title, artist, files) for isrc, files in self._editions)
        self._editions = []
        self._start_over()

    def end_header(self) -> None:
        self._header = self.leaves
        self._start_over()

    def end_party(self) -> None:
        self._parties[self.leaves.get("PartyReference", "")] = self.leaves.get("FullName", "")
        self._start_over()

    def end_other(self) -> None:
        self._others += (file.location for file in self._files)
        self._start_over()

    def end_release(self) -> None:
        if self.is_main or not self._release:
            self._release = self.leaves
        self.end_other()

    def _forget_files(self) -> None:
        self._files, self._starts = [], dict.fromkeys(_LEVELS, 0)

    def _start_over(self) -> None:
        self.leaves, self._artists, self._flags = {}, {}, {}
        self._forget_files()

    def message(self, location: str, *, is_purge: bool) -> ErnMessage:
        release, header = self._release, self._header
        ids = tuple(f"{kind}:{release[kind]}" for kind in ("ICPN", "GRid", "ProprietaryId") if kind in release)
        if not ids and "CatalogNumber" in release:
            ids = (f"CatalogNumber:{release['CatalogNumber']}",)
        tags = {
            "release_title": _title_in(release),
            "label": release.get("LabelName") or self._parties.get(release.get("ReleaseLabelReference", "")),
            "icpn": release.get("ICPN"),
            "grid": release.get("GRid"),
            "catalog_number": release.get("CatalogNumber"),
            "sender": header.get("PartyId") or header.get("FullName"),
            "message_id": header.get("MessageId"),
            "thread_id": header.get("MessageThreadId"),
        }
        return ErnMessage(
            location=location,
            is_purge=is_purge,
            is_test=header.get("MessageControlType", "").lower() == "testmessage",
            sender=tags["sender"] or "",
            message_id=header.get("MessageId", ""),
            thread_id=header.get("MessageThreadId", ""),
            created=_posix_seconds(header.get("MessageCreatedDateTime", "")),
            ids=ids,
            tags={name: text for name, text in tags.items() if text},
            has_files=any(recording.files for recording in self._recordings),
            recordings=tuple(self._recordings),
            clips=tuple(self._clips),
            others=tuple(self._others),
        )


_ENDINGS: Final[Mapping[str, Callable[[_Reader], None]]] = {
    "MessageHeader": _Reader.end_header,
    "Party": _Reader.end_party,
    "File": _Reader.end_file,
    "DeliveryFile": partial(_Reader.end_level, level="DeliveryFile"),
    **dict.fromkeys(_TECHNICAL, partial(_Reader.end_level, level="Technical")),
    "SoundRecordingEdition": _Reader.end_edition,
    "SoundRecordingDetailsByTerritory": _Reader.end_territory,
    "SoundRecording": _Reader.end_recording,
    **dict.fromkeys(("Release", "PurgedRelease"), _Reader.end_release),
    **dict.fromkeys(("Image", "Video", "Text", "SheetMusic", "Software", "MIDI"), _Reader.end_other),
    **dict.fromkeys(("UserDefinedResource", "TrackRelease", "ReleaseDeal"), _Reader.end_other),
}
"""What is done at the end of each element that holds others."""

_NAMES = frozenset({*_WITHIN, *_ENDINGS})


def _title_in(leaves: Mapping[str, str]) -> str:
    title, further = leaves.get("DisplayTitleText") or leaves.get("TitleText", ""), leaves.get("SubTitle", "")
    return f"{title} ({further})" if further and further.casefold() not in title.casefold() else title


def _posix_seconds(written: str) -> float:
    try:
        when = datetime.fromisoformat(written)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _is_purge(root: "_Element") -> bool:
    """Return whether the message withdraws a release; SourceError if it is none of ERN 3 or 4."""
    name, namespace = local_name(root), root.tag[1:].partition("}")[0] if root.tag[0] == "{" else ""
    if name not in {_NEW_RELEASE, _PURGE}:
        raise unreadable(f"Its root element is {name[:_SHOWN_LETTERS]}, not {_NEW_RELEASE} or {_PURGE}")
    found = _ERN.search(namespace)
    if found is None:
        shown = namespace[:_SHOWN_LETTERS] or "none"
        raise unreadable(f"Its namespace is {shown}, which is no version of ERN, the standard of such messages")
    if found[1] not in _MAJORS:
        raise unreadable(f"It is of ERN {'.'.join((found[1], *found[2]))}; versions 3 and 4 can be read")
    return name == _PURGE


def _is_whole(manifest: OpenFile) -> bool:
    try:
        deque(elements(manifest, ["MessageInBatch"]), maxlen=0)
    except SourceError as error:
        if error.reason != Reason.UNREADABLE_MESSAGE:
            raise
        return False
    return True
