"""What XML beside audio says: a DDEX message (ERN 3.4 and later) of a release and its files, or a batch's manifest."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from fnmatch import translate
from functools import cache, lru_cache
from glob import escape
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from proofsweep.config.locations import split_location
from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import Declared, FileFacts, algorithm_named, hex_digest
from proofsweep.domain.reasons import AtFault, Reason, about
from proofsweep.files.files import Files, refuse_unavailable
from proofsweep.files.folder_listing import FOLDERS_KEPT, Folder
from proofsweep.files.names import caseless
from proofsweep.files.open_file import OpenFile
from proofsweep.sources.bounded_xml import HEAD_BYTES, lacks_its_end, read_xml, root_of, unreadable

if TYPE_CHECKING:
    from lxml.etree import _Element


_XML_ENDING = re.compile(r"\.xml\Z", re.IGNORECASE)

_NEW_RELEASE: Final = "NewReleaseMessage"
_PURGE: Final = "PurgeReleaseMessage"
_MANIFEST: Final = "ManifestMessage"
_ERN = re.compile(r"ddex\.net/+xml/+(?:\d{4}/+)?ern(?:-main)?/+v?(\d)(\d*)", re.IGNORECASE)
_MAJORS = frozenset({"3", "4"})

FOLDER: Final = "{folder}"
TAG_NAMES: Final = (
    *("isrc", "title", "artist", "release_title", "label", "icpn", "grid", "catalog_number"),
    *("sender", "message_id", "thread_id", "batch", "release"),
)
"""The tags that rows of a delivery may have; one whose value no message gives is left out."""

_SLASHES = "/\\"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
# What may stand between a resource and the files that hold it. The file of a fingerprint or a preview stands elsewhere.
_TECHNICAL = re.compile(r"DeliveryFile|Technical\w*Details|\w+DetailsByTerritory|\w+Edition")
_TRUE = frozenset({"true", "1"})
_NOT_DELIVERED = frozenset(("IsProvidedInDelivery", false) for false in ("false", "0"))
_CLIP = frozenset((flag, true) for flag in ("IsClip", "IsPreview") for true in _TRUE)
_AROUND_A_FILE = ("IsProvidedInDelivery", "IsClip", "IsPreview")
_MOST_DIGITS = 18
_SHOWN_LETTERS = 80
_NOTHING = "(?!)"  # as a pattern


class Role(StrEnum):
    """What a message says that a file is."""

    RECORDING = "recording"
    CLIP = "clip"  # a preview of a recording
    VIDEO = "video"
    OTHER = "other"  # a cover, a text


class NamedFile(NamedTuple):
    """A file that is delivered, as its message names it."""

    role: Role
    locations: tuple[str, ...]  # as written, the likeliest first; a URL of another machine last
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
    files: tuple[NamedFile, ...] = ()

    @property
    def release_id(self) -> str:
        """Return what the release is known by; empty if the message gives no ID."""
        return self.ids[0].partition(":")[2] if self.ids else ""

    @property
    def item_names(self) -> tuple[str, ...]:
        """Return what all messages of the release have in common, by which its files are items."""
        kind = ("test",) if self.is_test else ()
        return (*kind, self.sender, self.release_id or self.thread_id or self.message_id)

    @property
    def order(self) -> tuple[float, str, str]:
        """Sort messages from the oldest to the newest; a purge without a date withdraws all."""
        created = self.created
        if not created and self.is_purge:
            created = float("inf")
        return created, self.message_id, self.location


class CompletionNames:
    """The names by which a file says that all of its folder is sent; `{folder}` stands for the folder's name."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = [caseless(pattern) for pattern in patterns]
        self._names_in = lru_cache(FOLDERS_KEPT)(self._names_of)

    def cover(self, location: str) -> bool:
        folder, name = split_location(location)
        return self._names_in(folder).fullmatch(caseless(name)) is not None

    def _names_of(self, folder: str) -> re.Pattern[str]:
        folder_name = escape(caseless(posixpath.basename(folder)))
        forms = [translate(pattern.replace(FOLDER, folder_name)) for pattern in self._patterns]
        return re.compile("|".join(forms) or _NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class XmlFile:
    location: str
    facts: FileFacts
    message: ErnMessage | None = None  # None if it is no message of a release, or cannot be read
    error: str | None = None  # why it is a message that cannot be read, in one sentence
    reason: Reason = Reason.UNREADABLE_MESSAGE  # of such a one
    is_cut_short: bool = False  # its end is not there: it is on its way
    is_completion: bool = False  # says that a batch is complete; a manifest that is cut short does not

    @property
    def is_message(self) -> bool:
        return self.message is not None or self.error is not None


def is_xml_name(name: str) -> bool:
    return name.lower().endswith(".xml")


def xml_in(folder: Folder, source: Files, completion_files: CompletionNames) -> Iterator[XmlFile]:
    """Yield the XML files in a folder; those whose content is something else are none."""
    for name in filter(is_xml_name, folder.files):
        location = posixpath.join(folder.location, name)
        if completion_files.cover(location):
            continue
        file = examine(location, source)
        if file is not None:
            yield file


def examine(location: str, source: Files) -> XmlFile | None:
    """Look into a file whose name is that of XML; None if it is not XML.

    SourceError if it cannot be read now: without its message, a delivery would be other files.
    """
    # A file that cannot be opened, or has no root element, is a message that is broken if it has its folder's name, as
    # messages do.
    folder, name = map(posixpath.basename, posixpath.split(location))
    stem = posixpath.splitext(name)[0]
    is_message = has_its_name = f"{folder}_".startswith(f"{stem}_")
    facts = FileFacts(0, "")
    try:
        with source.open(location) or nullcontext() as file:
            if file is None:
                return None
            facts = file.facts()
            root = root_of(file.read_at(0, HEAD_BYTES))
            is_other = root is not None and root.lower() != "html"
            is_message = root in {_NEW_RELEASE, _PURGE} or (has_its_name and not is_other)
            if is_message:
                return XmlFile(location=location, facts=facts, message=read_message(file, location))
            if root == _MANIFEST:
                read_xml(file)
    except SourceError as error:
        refuse_unavailable(error, location)
        if not is_message and error.reason != Reason.UNREADABLE_MESSAGE:
            return None
        is_cut_short = error.reason == Reason.UNREADABLE_MESSAGE and lacks_its_end(location, source)
        because = error.message if is_message else None  # a manifest that is cut short is on its way
        # No supplier can give us a permission.
        is_ours = about(error.reason).at_fault is AtFault.SOURCE
        reason = Reason.CLOSED_MESSAGE if is_ours else Reason.UNREADABLE_MESSAGE
        return XmlFile(location=location, facts=facts, error=because, reason=reason, is_cut_short=is_cut_short)
    if not is_other:
        return None
    return XmlFile(location=location, facts=facts, is_completion=root == _MANIFEST)


def read_message(file: OpenFile, location: str) -> ErnMessage:
    """Read a message of a release; SourceError, `unreadable_message`, gives the reason in one sentence.

    Each path is that of one version of the standard or of several; what is not at one of them is not meant.
    """
    root = read_xml(file)
    is_purge = _is_purge(root)
    release = _main_release(root)
    parties = _names_of_parties(root)
    ids = _ids_of(release)
    catalog_number = ids.pop("CatalogNumber", "")
    header = {
        "sender": _text(root, "MessageHeader/MessageSender/PartyId", "MessageHeader/MessageSender/PartyName/FullName"),
        "message_id": _text(root, "MessageHeader/MessageId"),
        "thread_id": _text(root, "MessageHeader/MessageThreadId"),
    }
    tags = {
        "release_title": _title_of(release),
        "label": _label_of(release, parties),
        "icpn": ids.get("ICPN", ""),
        "grid": ids.get("GRid", ""),
        "catalog_number": catalog_number,
    }
    # The catalog number is the ID only of a release that has no other one.
    if not ids and catalog_number:
        ids = {"CatalogNumber": catalog_number}
    control_type = _text(root, "MessageHeader/MessageControlType")
    created = _text(root, "MessageHeader/MessageCreatedDateTime")
    files: list[NamedFile] = []
    for resource in root.iterfind("ResourceList/*"):
        files += _files_of(resource, parties)
    return ErnMessage(
        location=location,
        is_purge=is_purge,
        is_test=control_type.lower() == "testmessage",
        **header,
        created=_posix_seconds(created),
        ids=tuple(f"{kind}:{text}" for kind, text in ids.items()),
        tags=_without_empty({**tags, **header}),
        files=tuple(files),
    )


def _main_release(root: "_Element") -> "_Element":
    releases = [*root.iterfind("ReleaseList/Release"), *root.iterfind("PurgedRelease")]
    for release in releases:
        if release.get("IsMainRelease") in _TRUE:
            return release
    return releases[0] if releases else root


def _names_of_parties(root: "_Element") -> dict[str, str]:
    return {_text(party, "PartyReference"): _text(party, "PartyName/FullName") for party in root.iter("Party")}


def _ids_of(release: "_Element") -> dict[str, str]:
    kinds = ("ICPN", "GRid", "ProprietaryId", "CatalogNumber")
    return _without_empty({kind: _text(release, f"ReleaseId/{kind}") for kind in kinds})


def _label_of(release: "_Element", parties: Mapping[str, str]) -> str:
    reference = _text(release, "ReleaseLabelReference")
    return _text(release, "ReleaseDetailsByTerritory/LabelName") or parties.get(reference, "")


def _without_empty(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in texts.items() if text}


def messages_named(file: OpenFile) -> Iterator[list[str]]:
    """Yield for each message that a batch's manifest names all words by which it may be known, its location first."""
    for message in read_xml(file).iter("MessageInBatch"):
        texts = {leaf.tag: _stripped(leaf) for leaf in message.iter()}
        url = unquote(texts.pop("URL", "")).replace("\\", "/").strip("/")
        # A release may be known by its folder's name, or by that of its message.
        folders = [_XML_ENDING.sub("", part) for part in url.split("/")]
        words = (url, *folders, *texts.values())
        yield list(filter(None, words))


def _is_purge(root: "_Element") -> bool:
    """Return whether the message withdraws a release; SourceError if it is none of ERN 3 or 4."""
    tag: str = root.tag
    namespace, _, name = tag.rpartition("}")
    if name not in {_NEW_RELEASE, _PURGE}:
        raise unreadable(f"Its root element is {name[:_SHOWN_LETTERS]}, not {_NEW_RELEASE} or {_PURGE}")
    version = _ERN.search(namespace)
    if version is None:
        shown = namespace[1:][:_SHOWN_LETTERS] or "none"
        raise unreadable(f"Its namespace is {shown}, which is no version of ERN, the standard of such messages")
    major, minors = version.groups()
    if major not in _MAJORS:
        dotted = ".".join((major, *minors))
        raise unreadable(f"It is of ERN {dotted}; versions 3 and 4 can be read")
    return name == _PURGE


def _text(element: "_Element", *paths: str) -> str:
    """Return the first text that stands at one of the paths, in their order; empty if there is none."""
    for path in paths:
        for leaf in element.iterfind(path):
            text = _stripped(leaf)
            if text:
                return text
    return ""


def _stripped(leaf: "_Element") -> str:
    return (leaf.text or "").strip()


def _title_of(element: "_Element") -> str:
    title = _text(element, "DisplayTitleText", "ReferenceTitle/TitleText", "DisplayTitle/TitleText")
    further = _text(element, "ReferenceTitle/SubTitle", "DisplayTitle/SubTitle")
    if not further or further.casefold() in title.casefold():
        return title
    return f"{title} ({further})"


def _artist_of(recording: "_Element", parties: Mapping[str, str]) -> str:
    # The first territory that names some has the word: others may name them in another script.
    for territory in (recording, *recording.iterfind("SoundRecordingDetailsByTerritory")):
        display_name = _text(territory, "DisplayArtistName")
        if display_name:
            return display_name
        names: list[str] = []
        for artist in territory.iterfind("DisplayArtist"):
            reference = _text(artist, "ArtistPartyReference")
            name = _text(artist, "PartyName/FullName") or parties.get(reference, "")
            if name and name not in names:
                names.append(name)
        if names:
            return ", ".join(names)
    return ""


def _files_of(resource: "_Element", parties: Mapping[str, str]) -> Iterator[NamedFile]:
    """Yield the delivered files of a resource and of its editions; those of a fingerprint in it are none."""
    # Asked once for each element: a hostile recording may have a hundred thousand files.
    isrc_of, flags_of = cache(_isrc_of), cache(_flags_of)
    resources = resource.getparent()
    isrc = isrc_of(resource)
    title = _title_of(resource)
    artist = _artist_of(resource, parties)
    for file in resource.iter("File"):
        around = list(takewhile(lambda above: above is not resources, file.iterancestors()))
        if not all(_TECHNICAL.fullmatch(str(above.tag)) for above in around[:-1]):
            continue
        flags = frozenset[tuple[str, str]]().union(*map(flags_of, around))
        leaves = _leaves_of(file)
        locations = _locations_in(leaves)
        if not locations or not flags.isdisjoint(_NOT_DELIVERED):
            continue
        role = _role_of(file, resource, is_clip=not flags.isdisjoint(_CLIP))
        edition = next(file.iterancestors("SoundRecordingEdition"), resource)
        tags = {"isrc": isrc_of(edition) or isrc, "title": title, "artist": artist}
        yield NamedFile(role, locations, _declared_in(leaves), _without_empty(tags))


def _role_of(file: "_Element", resource: "_Element", *, is_clip: bool) -> Role:
    if resource.tag == "Video":
        return Role.VIDEO
    if resource.tag != "SoundRecording":
        return Role.OTHER
    above = file.getparent()
    if above is not None and above.tag == "DeliveryFile":
        kind = _text(above, "Type").lower()
        if kind and "audio" not in kind:
            return Role.OTHER
    return Role.CLIP if is_clip else Role.RECORDING


def _isrc_of(element: "_Element") -> str:
    return _text(element, "SoundRecordingId/ISRC", "ResourceId/ISRC")


def _flags_of(element: "_Element") -> frozenset[tuple[str, str]]:
    leaves = element.iterchildren(*_AROUND_A_FILE)
    return frozenset((leaf.tag, _stripped(leaf).lower()) for leaf in leaves)


def _leaves_of(file: "_Element") -> dict[str, str]:
    leaves: dict[str, str] = {}
    for leaf in file.iter():
        text = _stripped(leaf)
        if text:
            leaves[leaf.tag] = text
    return leaves


def _locations_in(leaves: Mapping[str, str]) -> tuple[str, ...]:
    # The likeliest place is first. Senders use `FilePath` with the name of the file and without it.
    folder = leaves.get("FilePath", "")
    name = leaves.get("FileName", "")
    in_folder = f"{folder.rstrip(_SLASHES)}/{name}" if folder and name else ""
    written = (leaves.get("URI"), in_folder, folder, name, leaves.get("URL"))
    locations = dict.fromkeys(filter(None, written))
    return tuple(sorted(locations, key=lambda location: _URL.match(location) is not None))


def _declared_in(leaves: Mapping[str, str]) -> Declared | None:
    """Return what can be compared with the file; a digest of an unknown algorithm, or a malformed one, cannot."""
    size_bytes: int | None = None
    size = leaves.get("FileSize", "")
    if size.isascii() and size.isdigit() and len(size) <= _MOST_DIGITS:
        size_bytes = int(size)
    digests: dict[str, str] = {}
    algorithm = algorithm_named(leaves.get("Algorithm") or leaves.get("HashSumAlgorithmType", ""))
    written = leaves.get("HashSumValue") or leaves.get("HashSum", "")  # of ERN 3 the value has the name of its parent
    if algorithm:
        digest = hex_digest(algorithm, written)
        if digest:
            digests[algorithm] = digest
    return Declared(size_bytes=size_bytes, digests=digests) or None


def _posix_seconds(written: str) -> float:
    try:
        when = datetime.fromisoformat(written)
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        return when.timestamp()
    except (ValueError, OverflowError):
        return 0.0
