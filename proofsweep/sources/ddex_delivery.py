"""Take the folders of deliveries out of a scan, and give their rows when all messages are known."""

import hashlib
import os
import posixpath
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from proofsweep.config.locations import is_within, one_line, path_within
from proofsweep.domain.items import ManifestRow, raw_bytes
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.catalog import DeliveryCounts
from proofsweep.sources.ddex_files import (
    Batch,
    ListedFolders,
    Release,
    XmlFile,
    absent_messages,
    below,
    candidates,
    examine,
    is_completion_name,
    is_xml_name,
    leads_up,
)
from proofsweep.sources.ddex_message import ErnMessage, Header, MessageFile, MessageSpool, Recording, Threads, header_of
from proofsweep.sources.source import Folder, Source

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


ACKNOWLEDGEMENTS = "acknowledgements"
"""The folder for answers to a sender; it is never scanned."""


class Deliveries:
    """The deliveries of one scan; its counts are complete after the last row, its batches before the first."""

    def __init__(self, top: str, source: Source, spool: MessageSpool, only: str | None = None) -> None:
        self.counts = DeliveryCounts()
        self.batches: Mapping[str, Batch] = {}
        self._top = top
        self._only = only
        self._source = source
        self._spool = spool
        self._listed = ListedFolders(source, top)
        self._releases: dict[str, ReleaseFolder] = {}
        self._completions: dict[str, str] = {}
        self._leading: list[tuple[int, str]] = []  # messages, by number, and the other folders that they name
        self._threads = Threads(())
        self._batch_of: dict[str, str] = {}

    @property
    def are_there(self) -> bool:
        return bool(self._releases)

    def is_left_out(self, folder: Folder) -> bool:
        within = folder.location[len(self._top) :].lower()
        return ACKNOWLEDGEMENTS in within and ACKNOWLEDGEMENTS in within.split("/")

    def take(self, folder: Folder) -> tuple[Folder | None, list[XmlFile]]:
        """Keep a folder of a delivery, or return it without XML that cannot be audio; and the messages in it."""
        xml = [found for name in folder.files if is_xml_name(name) and (found := self._look_into(folder, name))]
        messages = [each for each in xml if each.is_message]
        self._note_completion(folder, xml)
        if messages:
            self._releases[folder.location] = release = ReleaseFolder(location=folder.location)
            for each in messages:
                self._add(release, each)
        known = {posixpath.basename(each.location) for each in xml}
        left = replace(folder, files=[name for name in folder.files if name not in known]) if known else folder
        top = folder.location if messages else self._listed.top_of(folder.location) if self._releases else None
        if top is None:
            return left, messages
        self._listed.add(left, is_top=bool(messages))
        self._releases[top].folders.append(left)
        return None, messages

    def rows(
        self,
        rows_in: Callable[[Folder, NamedFiles], Iterator[ManifestRow]],
        row_at: Callable[[str], ManifestRow],
        has_no_row: Callable[[str], bool],
    ) -> Iterator[ManifestRow]:
        """Yield the rows of all folders that were taken, and of what messages name and nobody sent."""
        self._settle()
        for release in self._releases.values():
            found = named_files(release, self._threads, self._spool, self._listed, self._batch_of)
            found.are_all = self._only is not None
            for folder in release.folders:
                for row in rows_in(folder, found):
                    naming = found.here.pop(row.audio or "", None)
                    if naming is None:
                        yield self._unnamed(row, release)
                        continue
                    is_link = bool(folder.links) and posixpath.basename(row.audio or "") in folder.links
                    yield self._named(row, naming, release, is_link=is_link)
            left_out = ((location, naming, None) for location, naming in found.here.items())
            for location, naming, refused in (*left_out, *found.missing):
                if not has_no_row(location):
                    yield self._missing(row_at(location), naming, refused, release)
            for each in release.broken:
                self.counts.unreadable += 1
                refused = Ineligible(Reason.UNREADABLE_MESSAGE, each.error or "")
                yield self._placed(row_at(each.location), refused, release)
        yield from self._absent_messages(row_at)

    def _absent_messages(self, row_at: Callable[[str], ManifestRow]) -> Iterator[ManifestRow]:
        for batch in self.batches.values():
            for name in absent_messages(batch, self._source):
                self.counts.missing += 1
                detail = "The manifest of the batch names this message, and it is not there."
                row = row_at(below(batch.location, next(candidates(name), name)))
                refused = Ineligible(Reason.MISSING_AUDIO, detail)
                tags = {"batch": posixpath.basename(batch.location)}
                yield replace(row, refused=refused, tags=tags, batch=batch.location)

    def _look_into(self, folder: Folder, name: str) -> XmlFile | None:
        location = posixpath.join(folder.location, name)
        if is_completion_name(name) or self._only not in {None, location}:
            return None
        return examine(location, self._source)

    def _note_completion(self, folder: Folder, xml: list[XmlFile]) -> None:
        names = (name for name in folder.files if is_completion_name(name))
        found = [posixpath.join(folder.location, name) for name in names]
        found += [each.location for each in xml if each.is_completion]
        if found:
            self._completions[folder.location] = found[0]

    def _add(self, release: ReleaseFolder, found: XmlFile) -> None:
        if found.message is None:
            release.broken.append(found)
            return
        number = self._spool.add(found.message)
        release.headers.append(header_of(found.message, number, found.location))
        self._leading += ((number, each) for each in folders_meant(found.message, release.location))

    def _settle(self) -> None:
        headers = [header for release in self._releases.values() for header in release.headers]
        self._threads = Threads(headers)
        children = Counter(posixpath.dirname(location) for location in self._releases)
        for location in self._releases:
            above = posixpath.dirname(location)
            is_below = location not in {self._top, *self._completions} and is_within(above, self._top)
            is_batch = is_below and (above in self._completions or children[above] > 1)
            self._batch_of[location] = above if is_batch else location
        for number, folder in self._leading:
            if (top := self._listed.folder_of(folder)) is not None:
                self._releases[top].led_here.add(number)
        found: dict[str, dict[str, Release]] = {}
        for release in self._releases.values():
            found.setdefault(self._batch_of[release.location], {})[release.location] = self._release_of(release)
        self.batches = {
            location: Batch(location=location, completion=self._completions.get(location), releases=releases)
            for location, releases in found.items()
        }
        self.counts.batches = len(self.batches)
        self.counts.releases = self._threads.releases
        self.counts.senders = len({header.sender for header in headers})
        self.counts.without_files = sum(not header.has_files for header in headers)

    def _named(self, row: ManifestRow, naming: Naming, release: ReleaseFolder, *, is_link: bool = False) -> ManifestRow:
        self.counts.files += 1
        refused, batch = row.refused or self._finding(naming.header), self._batch_of[release.location]
        if refused is None and is_link and not is_within(os.path.realpath(row.audio or ""), os.path.realpath(batch)):
            refused = Ineligible(Reason.OUTSIDE_CATALOG, f"This link leads out of the batch {one_line(batch)}.")
        return self._placed(row, refused, release, naming)

    def _unnamed(self, row: ManifestRow, release: ReleaseFolder) -> ManifestRow:
        if row.refused is not None:
            return self._placed(row, row.refused, release)
        self.counts.unnamed += 1
        broken = "".join(f" {one_line(posixpath.basename(each.location))} cannot be read." for each in release.broken)
        detail = f"No message of this delivery names the file.{broken}"
        return self._placed(row, Ineligible(Reason.NOT_IN_MESSAGE, detail), release)

    def _missing(
        self, row: ManifestRow, naming: Naming, refused: Ineligible | None, release: ReleaseFolder
    ) -> ManifestRow:
        self.counts.files += 1
        self.counts.missing += row.audio_facts is None and refused is None
        where = path_within(naming.header.location, self._top)
        is_absent = row.refused is None and row.audio_facts is None
        hint = self._listed.hint(row.audio or "") if is_absent else ""
        because = f"{one_line(where)} names this file, and it is not in the delivery{one_line(hint)}."
        absent = Ineligible(Reason.MISSING_AUDIO, because)
        refused = self._finding(naming.header) or refused or row.refused or (absent if is_absent else None)
        return self._placed(row, refused, release, naming)

    def _placed(
        self, row: ManifestRow, refused: Ineligible | None, release: ReleaseFolder, naming: Naming | None = None
    ) -> ManifestRow:
        batch = self._batch_of[release.location]
        tags = {"batch": posixpath.basename(batch)}
        header = release.newest if naming is None else naming.header
        if header is not None and header.release_id:
            tags["release"] = header.release_id
        if naming is not None:
            row = replace(row, item_id=naming.item_id, declared=naming.file.declared)
            tags = {**naming.tags, **tags}
        return replace(row, tags=tags, refused=refused, batch=batch, release=release.location)

    def _finding(self, header: Header) -> Ineligible | None:
        """Return why a file that a message names is not sent, whatever it holds; None if it is."""
        if header.is_test:
            return Ineligible(Reason.TEST_MESSAGE, f"Message {header.message_id or header.location} is a TestMessage.")
        if self._threads.is_withdrawn(header):
            return Ineligible(Reason.WITHDRAWN, f"{header.sender} withdrew the release {header.release_id} later.")
        return None

    def _release_of(self, folder: ReleaseFolder) -> Release:
        newest, at = folder.newest, folder.location
        if newest is None:
            return Release(at)
        is_withdrawn = self._threads.is_withdrawn(newest)
        return Release(at, newest.release_id, newest.sender, newest.message_id, newest.is_test, is_withdrawn)
