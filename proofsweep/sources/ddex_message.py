"""What a DDEX message (ERN 3.4 and later) says of a release and its audio, read as it streams."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from proofsweep.domain.items import Declared, algorithm_named, hex_digest
from proofsweep.sources.source import OpenFile
from proofsweep.sources.xml_reader import elements, local_name, unreadable

if TYPE_CHECKING:
    from lxml.etree import _Element


NEW_RELEASE: Final = "NewReleaseMessage"
PURGE: Final = "PurgeReleaseMessage"
MANIFEST: Final = "ManifestMessage"

_ERN = re.compile(r"ddex\.net/+xml/+(?:\d{4}/+)?ern(?:-main)?/+v?(\d)(\d*)", re.IGNORECASE)
_MOST_DIGITS = 18


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
        size_bytes = int(self.size_bytes) if is_size else None
        digests = {} if algorithm is None or digest is None else {algorithm: digest}
        return Declared(size_bytes=size_bytes, digests=digests) or None


class Recording(NamedTuple):
    """A sound recording; of one with several editions, each edition is one."""

    reference: str
    isrc: str
    title: str
    artist: str
    files: tuple[MessageFile, ...]


class ErnMessage(NamedTuple):
    is_purge: bool
    message_id: str
    thread_id: str
    created: float  # in POSIX seconds; 0 if that cannot be read
    sender: str  # its DPID, or its name if it gives none
    is_test: bool
    icpn: str
    grid: str
    catalog_number: str
    proprietary_id: str
    release_title: str
    label: str
    recordings: tuple[Recording, ...]
    clips: tuple[str, ...]  # locations of previews
    others: tuple[str, ...]  # and of images, videos, texts and other resources

    @property
    def release_id(self) -> str:
        """Return what the release is known by; empty if the message gives no ID."""
        return next((each.partition(":")[2] for each in self.ids), "")

    @property
    def ids(self) -> tuple[str, ...]:
        """Return all IDs of the release with their kind; its catalog number only if it has no other."""
        kinds = {"ICPN": self.icpn, "GRid": self.grid, "ProprietaryId": self.proprietary_id}
        found = tuple(f"{kind}:{value}" for kind, value in kinds.items() if value)
        return found or ((f"CatalogNumber:{self.catalog_number}",) if self.catalog_number else ())

    @property
    def has_files(self) -> bool:
        """Whether it names audio; an update of the metadata alone does not."""
        return any(recording.files for recording in self.recordings)


def version_in(namespace: str) -> str | None:
    """Return the version that a namespace of the standard names, such as 3.8.2; None if it is none of ERN's."""
    found = _ERN.search(namespace)
    return None if found is None else ".".join((found[1], *found[2]))


class MessageSpool:
    """Messages by the order in which they were added, in an empty file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._ends = [0]

    def add(self, message: ErnMessage) -> int:
        self._file.seek(self._ends[-1])
        self._ends.append(self._ends[-1] + self._file.write(json.dumps(message).encode()))
        return len(self._ends) - 2

    def message(self, number: int) -> ErnMessage:
        start, end = self._ends[number : number + 2]
        self._file.seek(start)
        return _message_of(json.loads(self._file.read(end - start)))


def _message_of(cells: list[Any]) -> ErnMessage:  # as `add` wrote it
    found = dict(zip(ErnMessage._fields, cells, strict=True))
    found["recordings"] = tuple(
        Recording(reference, isrc, title, artist, tuple(MessageFile(*file) for file in files))
        for reference, isrc, title, artist, files in found["recordings"]
    )
    return ErnMessage(**found | {"clips": tuple(found["clips"]), "others": tuple(found["others"])})


_NEVER: Final = (float("-inf"), "", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What decides between messages, without what they say of recordings."""

    number: int  # counts the messages of a scan
    location: str
    is_purge: bool
    is_test: bool
    has_files: bool
    created: float
    sender: str
    message_id: str
    thread_id: str
    ids: tuple[str, ...]
    release_id: str

    @property
    def order(self) -> tuple[float, str, str]:
        """Sort messages from the oldest to the newest; a purge without a date withdraws all."""
        return self.created or (float("inf") if self.is_purge else 0.0), self.message_id, self.location


def header_of(message: ErnMessage, number: int, location: str) -> Header:
    of_message = {each.name: getattr(message, each.name) for each in fields(Header)[2:]}
    return Header(number=number, location=location, **of_message)


class Threads:
    """The messages of each release, from the oldest to the newest, and when it was withdrawn."""

    def __init__(self, headers: Iterable[Header]) -> None:
        self._threads: dict[int, list[Header]] = {}
        self._withdrawn: dict[tuple[str, ...], tuple[float, str, str]] = {}
        by_key: dict[tuple[str, ...], list[Header]] = {}
        for header in sorted(headers, key=lambda each: each.order):
            keys = _keys_of(header)
            if header.is_purge:
                if not header.is_test:
                    self._withdrawn.update(dict.fromkeys(keys, header.order))
                continue
            thread = next((by_key[key] for key in keys if key in by_key), None) or []
            by_key.update(dict.fromkeys(keys, thread))
            thread.append(header)
            self._threads[header.number] = thread

    def thread_of(self, number: int) -> Sequence[Header]:
        """Return all messages of the release of a message, the newest last; none of one that withdraws a release."""
        return self._threads.get(number, ())

    @property
    def releases(self) -> int:
        return len({id(thread) for thread in self._threads.values()})

    def is_withdrawn(self, header: Header) -> bool:
        times = (self._withdrawn.get(key, _NEVER) for key in _keys_of(header))
        return header.is_purge or (not header.is_test and max(times, default=_NEVER) > header.order)


def _keys_of(header: Header) -> list[tuple[str, ...]]:
    """Return by what a release is known again: each of its IDs, of one sender; without any, the thread, or nothing."""
    kind = "test" if header.is_test else "live"
    ids = header.ids or ((f"thread:{header.thread_id}",) if header.thread_id else (f"message:{header.location}",))
    return [(kind, header.sender, each) for each in ids]


_MAJORS = frozenset({"3", "4"})
_SHOWN_LETTERS = 80


def read_message(file: OpenFile) -> ErnMessage:
    """Read a message of a release; SourceError, `unreadable_message`, gives the reason in one sentence."""
    reader = _Reader()
    for element in elements(file, _NAMES):
        if not reader.version:
            reader.version, reader.is_purge = _kind_of(element.getroottree().getroot())
        tag: str = element.tag
        name = tag.rpartition("}")[2] if tag[0] == "{" else tag
        if name in _WITHIN:
            reader.take_leaf(name, element)
        else:
            reader.is_main = element.get("IsMainRelease", "") in _TRUE
            _ENDINGS[name](reader)
            element.clear()
    return reader.message()


def _kind_of(root: "_Element") -> tuple[str, bool]:
    name, namespace = local_name(root), root.tag[1:].partition("}")[0] if root.tag[0] == "{" else ""
    if name not in {NEW_RELEASE, PURGE}:
        raise unreadable(f"Its root element is {name[:_SHOWN_LETTERS]}, not {NEW_RELEASE} or {PURGE}")
    version = version_in(namespace)
    if version is None:
        shown = namespace[:_SHOWN_LETTERS] or "none"
        raise unreadable(f"Its namespace is {shown}, which is no version of ERN, the standard of such messages")
    if version[0] not in _MAJORS:
        raise unreadable(f"It is of ERN {version}; versions 3 and 4 can be read")
    return version, name == PURGE


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


class _Reader:
    """Collects what the elements say, each when it ends: first the leaves, then what they stand in."""

    def __init__(self) -> None:
        self.version, self.is_purge, self.is_main = "", False, False
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
        location = file.get("URI") or file.get("URL") or _joined(file.get("FilePath", ""), file.get("FileName", ""))
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

    def message(self) -> ErnMessage:
        if not self.version:
            raise unreadable("It holds no header, release or resource of a message")
        release, header = self._release, self._header
        label = release.get("LabelName") or self._parties.get(release.get("ReleaseLabelReference", ""), "")
        return ErnMessage(
            is_purge=self.is_purge,
            message_id=header.get("MessageId", ""),
            thread_id=header.get("MessageThreadId", ""),
            created=_posix_seconds(header.get("MessageCreatedDateTime", "")),
            sender=header.get("PartyId") or header.get("FullName", ""),
            is_test=header.get("MessageControlType", "").lower() == "testmessage",
            icpn=release.get("ICPN", ""),
            grid=release.get("GRid", ""),
            catalog_number=release.get("CatalogNumber", ""),
            proprietary_id=release.get("ProprietaryId", ""),
            release_title=_title_in(release),
            label=label,
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


def _joined(folder: str, name: str) -> str:
    return f"{folder.rstrip(_SLASHES)}/{name}" if folder and name else name


def _posix_seconds(written: str) -> float:
    try:
        when = datetime.fromisoformat(written)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
