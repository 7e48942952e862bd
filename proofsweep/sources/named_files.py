"""Find the files that messages of one release name, in its folder and others: their tags, item IDs and locations."""

import hashlib
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from proofsweep.config.locations import is_within, one_line
from proofsweep.domain.items import raw_bytes
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.message_files import XmlFile
from proofsweep.sources.messages import ErnMessage, Header, MessageFile, MessageSpool, Recording, Threads
from proofsweep.sources.named_locations import ListedFolders, below, candidates, leads_up
from proofsweep.sources.source import Folder

_OF_RECORDING = ("isrc", "title", "artist")
_OF_RELEASE = ("release_title", "label", "icpn", "grid", "catalog_number", "sender", "message_id", "thread_id")
TAG_NAMES: Final = (*_OF_RECORDING, *_OF_RELEASE, "resource", "technical", "batch", "release")
"""The tags that rows of a delivery may have; one whose value no message gives is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    item_id: str
    file: MessageFile
    tags: Mapping[str, str]  # without those of the batch and the release's folder
    header: Header  # of the newest message that names it


def named(message: ErnMessage, header: Header, newest: ErnMessage | None = None) -> list[Naming]:
    """Return each file that a message names, once; a newer message of the release gives its metadata."""
    of_release = {name: getattr(newest or message, name) for name in _OF_RELEASE}
    newer = {_identity(each): each for each in reversed(() if newest is None else newest.recordings)}
    found: dict[tuple[str, str], Naming] = {}
    for recording in message.recordings:
        latest = newer.get(_identity(recording), recording)
        of_recording = {name: getattr(latest, name) for name in _OF_RECORDING} | {"resource": recording.reference}
        for file in recording.files:
            tags = of_recording | of_release | {"technical": file.technical}
            naming = Naming(
                item_id=item_id_for(header, recording.reference, file.location),
                file=file,
                tags={name: tags[name] for name in TAG_NAMES if tags.get(name)},
                header=header,
            )
            found.setdefault((recording.reference, file.location), naming)
    return list(found.values())


def item_id_for(header: Header, reference: str, written: str) -> str:
    """Return an item ID that stays the same wherever the delivery lies: 32 hex digits.

    It is made of the sender, the release, the recording's reference in the message, and the location as written there.
    """
    release = header.release_id or header.thread_id or header.message_id
    parts = (header.sender, release, reference, written)
    kind = ("test",) if header.is_test else ()
    return hashlib.sha256(b"\0".join(map(raw_bytes, (*kind, *parts)))).hexdigest()[:32]


def _identity(recording: Recording) -> str:
    """Return by what a recording is known again in a later message: its ISRC, or its reference if it has none."""
    return f"isrc:{recording.isrc}" if recording.isrc else f"reference:{recording.reference}"


@dataclass(slots=True, kw_only=True)
class ReleaseFolder:
    """A folder with messages, and all that lies below it."""

    location: str
    headers: list[Header] = field(default_factory=list)
    broken: list[XmlFile] = field(default_factory=list)  # its messages that cannot be read
    folders: list[Folder] = field(default_factory=list)
    led_here: set[int] = field(default_factory=set)  # messages of other folders that may name files in this one

    @property
    def newest(self) -> Header | None:
        return max(self.headers, key=lambda each: each.order, default=None)


@dataclass(slots=True)
class NamedFiles:
    """What messages say of the files of one release's folder, by their locations."""

    here: dict[str, Naming] = field(default_factory=dict)
    # what is named and not there, with where it should be; and why, if that is not allowed.
    missing: list[tuple[str, Naming, Ineligible | None]] = field(default_factory=list)
    clips: set[str] = field(default_factory=set)  # no rows, as the next two
    others: set[str] = field(default_factory=set)
    replaced: set[str] = field(default_factory=set)
    are_all: bool = False  # other files of the folder are not asked for, since one message is the catalog

    def leave_out(self, location: str) -> bool:
        return self.are_all and not any(location in each for each in (self.here, self.clips, self.others))


NOTHING_NAMED: Final = NamedFiles()
"""Of a folder without messages."""


def folders_meant(message: ErnMessage, folder: str) -> Iterator[str]:
    for recording in message.recordings:
        for file in recording.files:
            if leads_up(file.location):
                yield from {posixpath.dirname(below(folder, path)) for path in candidates(file.location)}


def named_files(
    release: ReleaseFolder,
    threads: Threads,
    spool: MessageSpool,
    listed: ListedFolders,
    batch_of: Mapping[str, str],
) -> NamedFiles:
    """Return what messages say of the files in a release's folder; live ones go before tests, newer before older."""
    found = NamedFiles()
    numbers = {*(header.number for header in release.headers), *release.led_here}
    of_release = {thread[-1].number: thread for number in numbers if (thread := threads.thread_of(number))}
    newest_first = sorted(of_release.values(), key=lambda thread: thread[-1].order, reverse=True)
    for thread in sorted(newest_first, key=lambda thread: thread[-1].is_test):
        _Thread(thread, spool, listed, batch_of).add_to(found, release.location)
    for kind in (found.clips, found.others, found.replaced):
        kind.difference_update(found.here)
    return found


class _Thread:
    """The messages of one release, and where the files lie that they name."""

    def __init__(
        self, headers: Sequence[Header], spool: MessageSpool, listed: ListedFolders, batch_of: Mapping[str, str]
    ) -> None:
        self._messages = [(header, spool.message(header.number)) for header in reversed(headers)]
        self._listed = listed
        self._batch_of = batch_of

    def add_to(self, found: NamedFiles, folder: str) -> None:
        """Add what lies in a release's folder, and what the messages in it name and is nowhere."""
        for naming, headers in self._namings():
            locations = [each for header in headers if (each := self._place(header, naming.file.location)) is not None]
            is_at_home = posixpath.dirname(naming.header.location) == folder
            top = self._listed.top_of(posixpath.dirname(locations[0])) if locations else None
            if top == folder:
                found.here.setdefault(locations[0], naming)
            elif is_at_home and top is None:  # nowhere, or beside the releases, where no message lies
                found.missing.append((locations[0], naming, None) if locations else self._expected(naming))
            found.replaced.update(each for each in locations[1:] if each != locations[0])
        for header, message in self._messages:
            found.clips.update(self._places(header, message.clips))
            found.others.update(self._places(header, message.others))

    def _namings(self) -> Iterator[tuple[Naming, list[Header]]]:
        newest = self._messages[0][1]
        found: dict[tuple[str, str], tuple[Naming, list[Header]]] = {}
        for header, message in self._messages:
            for naming in named(message, header, None if message is newest else newest):
                key = (naming.tags.get("resource", ""), naming.file.location)
                found.setdefault(key, (naming, []))[1].append(header)
        yield from found.values()

    def _places(self, header: Header, locations: Sequence[str]) -> Iterator[str]:
        return (place for each in locations if (place := self._place(header, each)) is not None)

    def _place(self, header: Header, written: str) -> str | None:
        folder = posixpath.dirname(header.location)
        for path in candidates(written):
            location = below(folder, path)
            if is_within(location, self._batch_of[folder]) and (found := self._listed.found(location)) is not None:
                return found
        return None

    def _expected(self, naming: Naming) -> tuple[str, Naming, Ineligible | None]:
        folder = posixpath.dirname(naming.header.location)
        batch, paths = self._batch_of[folder], list(candidates(naming.file.location)) or [""]
        outside = next((each for path in paths if not is_within(each := below(folder, path), batch)), None)
        if outside is not None:
            leads_out = f"The message names a file outside of the batch {one_line(batch)}."
            return outside, naming, Ineligible(Reason.OUTSIDE_CATALOG, leads_out)
        return below(folder, next((path for path in paths if "\\" not in path), paths[0])), naming, None
