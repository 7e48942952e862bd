"""What DDEX messages say of a release and its audio, whatever their version, and which of several is in force."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import IO, Any, Final, NamedTuple

from proofsweep.domain.declared import Declared, algorithm_named, hex_digest

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
