"""Take the folders of deliveries out of a scan, and give their rows when all messages are known.

Each audio file of a delivery is a row by itself: no delivery changes what another one is. Its files are those below the
folder of its messages.
"""

import hashlib
import pickle
import posixpath
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from proofsweep.config.locations import is_within, one_line, path_within
from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import Declared, ManifestRow, raw_bytes
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.files.files import Files, below
from proofsweep.files.folder_listing import Folder
from proofsweep.files.names import composed
from proofsweep.sources.catalog import DeliveryCounts
from proofsweep.sources.ddex_files import DeliveredFiles, candidates, expected
from proofsweep.sources.ddex_message import CompletionNames, ErnMessage, NamedFile, Role, XmlFile, messages_named

# The name of a batch's folder in the standard: YYYYMMDDhhmmssnnn, with a letter for its priority or without.
BATCH_ID: Final = re.compile(r"(?:[PMNL]_)?\d{17}")
_NEVER: Final = (float("-inf"), "", "")
_ROWS = (Role.RECORDING, Role.CLIP, Role.VIDEO)  # files that are rows whatever their names and contents


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What the messages in a folder that can be read say of its releases."""

    sender: str = ""  # of the newest one, its DPID or a name; empty if no message can be read
    is_apart: bool = False  # all are tests, withdrawn, or withdraw what still lies there
    is_whole: bool = True  # False while the end of a message is not there
    version: str = ""  # of all its messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Releases that were sent together, in one folder; one that came alone is a batch of its own."""

    location: str
    completion: str | None = None  # the location of the file that says that all is sent; None while it is not there
    releases: Mapping[str, Release] = field(default_factory=dict, hash=False)  # by the location of their folders


class Naming(NamedTuple):
    file: NamedFile
    message: ErnMessage


class _Repeated(NamedTuple):
    """A file of an item that may lie in several folders."""

    message: ErnMessage
    declared: Declared | None


@dataclass(slots=True)
class NamedFiles:
    """What messages say of the files of one release's folder."""

    # The files that are there, by their locations: what the newest message of each release says.
    here: dict[str, list[Naming]] = field(default_factory=dict)
    missing: dict[str, Naming] = field(default_factory=dict)  # by where they should be

    def is_row(self, location: str) -> bool:
        return any(naming.file.role in _ROWS for naming in self.here.get(location, ()))


NOTHING_NAMED: Final = NamedFiles()
"""Of a folder without messages."""


@dataclass(slots=True, kw_only=True)
class _ReleaseFolder:
    """A folder with messages, and all that lies below it."""

    location: str
    messages: list[ErnMessage] = field(default_factory=list)  # without what they say of files
    broken: list[XmlFile] = field(default_factory=list)  # its messages that cannot be read
    version: str = ""
    folders: list[Folder] = field(default_factory=list)

    @property
    def newest(self) -> ErnMessage | None:
        return max(self.messages, key=lambda message: message.order, default=None)


class Deliveries:
    """The deliveries of one scan; its counts are complete after the last row, its batches before the first.

    In a watched folder, a message beside the folders of suppliers, or beside what lies loose in one, is no delivery's.
    """

    def __init__(self, top: str, source: Files, completion_files: CompletionNames, *, is_watched: bool) -> None:
        self.counts = DeliveryCounts()
        self.batches: Mapping[str, Batch] = {}
        self.strays: list[str] = []  # messages that are no delivery's
        self._top = top
        self._source = source
        self._completion_files = completion_files
        self._is_watched = is_watched
        self._packed: dict[str, bytes] = {}  # messages by their locations, compressed: there may be ten thousand
        self._files = DeliveredFiles()
        self._releases: dict[str, _ReleaseFolder] = {}
        self._withdrawn: dict[tuple[str, ...], tuple[float, str, str]] = {}  # when releases were, by their keys
        self._newest: dict[str, _Repeated] = {}  # of each item that may lie in several folders, the newest one
        self._completions: dict[str, str] = {}
        self._batch_of: dict[str, str] = {}

    @property
    def withdrawn(self) -> set[tuple[str, str]]:
        """The releases that messages withdraw, by their senders and each of their IDs."""
        releases: set[tuple[str, str]] = set()
        for _, sender, release_id in self._withdrawn:
            _, _, plain_id = release_id.partition(":")
            releases.add((sender, plain_id))
        return releases

    @property
    def are_there(self) -> bool:
        return bool(self._releases or self.strays)

    def take(self, folder: Folder, xml: Sequence[XmlFile]) -> tuple[Folder | None, list[XmlFile]]:
        """Keep a folder of a delivery, or return it without XML that cannot be audio; and the messages in it."""
        messages = [file for file in xml if file.is_message]
        in_folder = (posixpath.join(folder.location, name) for name in folder.files)
        completions = list(filter(self._completion_files.cover, in_folder))
        completions += [file.location for file in xml if file.is_completion]
        if messages or completions:
            if self._is_stray(folder.location, messages, completions):
                self._keep_stray(messages, completions)
            else:
                self._keep(folder.location, messages, completions)
        left = folder
        if xml:
            xml_names = {posixpath.basename(file.location) for file in xml}
            left = replace(folder, files=[name for name in folder.files if name not in xml_names])
        above = self._release_of(folder.location)
        if above is None:
            return left, messages
        self._files.add(folder)
        above.folders.append(left)
        return None, messages

    def _is_stray(self, folder: str, messages: Sequence[XmlFile], completions: Sequence[str]) -> bool:
        """Whether messages lie where suppliers, or what they send, have their folders."""
        if not self._is_watched or folder == self._top:
            return self._is_watched
        if posixpath.dirname(folder) != self._top:
            return False
        # A supplier's folder and a delivery's may both lie here. A delivery's has the name of a batch, or of its
        # message, or holds a completion file.
        name = posixpath.basename(folder)
        if completions or BATCH_ID.fullmatch(name):
            return False
        for message in messages:
            stem, _ = posixpath.splitext(posixpath.basename(message.location))
            if f"{name}_".startswith(f"{stem}_"):
                return False
        return True

    def _keep_stray(self, messages: Sequence[XmlFile], completions: Sequence[str]) -> None:
        self.strays += [file.location for file in messages]
        self.strays += completions
        for file in messages:
            if file.message is not None and file.message.is_purge:
                self._withdraw(file.message)

    def _keep(self, location: str, messages: Sequence[XmlFile], completions: Sequence[str]) -> None:
        if completions:
            self._completions[location] = completions[0]
        if not messages:
            return
        release = _ReleaseFolder(location=location)
        self._releases[location] = release
        versions = (f"{posixpath.basename(file.location)} {file.facts.version}" for file in messages)
        release.version = ",".join(versions)
        for file in messages:
            if file.message is None:
                release.broken.append(file)
                continue
            self._packed[file.message.location] = zlib.compress(pickle.dumps(file.message))
            release.messages.append(replace(file.message, files=()))
            if file.message.is_purge:
                self._withdraw(file.message)

    def _withdraw(self, purge: ErnMessage) -> None:
        for key in _keys_of(purge):
            self._withdrawn[key] = max(purge.order, self._withdrawn.get(key, _NEVER))

    def rows(
        self,
        rows_in: Callable[[Folder, NamedFiles], Iterator[ManifestRow]],
        row_at: Callable[[str], ManifestRow],
        has_no_row: Callable[[str], bool],
    ) -> Iterator[ManifestRow]:
        """Yield the rows of all folders that were taken, and of what messages name and nobody sent."""
        # A later message may withdraw a release, or repeat its files: no row is known before all messages are.
        self._sort_batches()
        self._find_repeated()
        for release in self._releases.values():
            named = self._named_files(release)
            for folder in release.folders:
                for row in rows_in(folder, named):
                    yield self._row_of(row, named.here.pop(row.audio or "", []), release)
            for location, namings in self._left_of(named, has_no_row):
                row = row_at(location)
                if location in named.here:
                    yield self._row_of(row, namings, release)
                else:
                    yield self._missing(row, namings[0], release)
            for file in release.broken:
                self.counts.unreadable += 1
                refused = Ineligible(file.reason, file.error or "")
                yield self._placed(row_at(file.location), refused, release)
        refused = Ineligible(Reason.MISSING_AUDIO, "The manifest of the batch names this message, and it is not there.")
        for location, batch in self.batches.items():
            tags = {"batch": posixpath.basename(location)}
            for name in self._absent_from(batch):
                self.counts.missing += 1
                path = next(candidates(name), name)
                row = row_at(below(location, path))
                yield replace(row, refused=refused, tags=tags, batch=location)

    def _left_of(self, named: NamedFiles, has_no_row: Callable[[str], bool]) -> Iterator[tuple[str, Sequence[Naming]]]:
        """Yield the named recordings that no folder's listing gave: what is left out there, and what is missing."""
        for location, namings in named.here.items():
            if any(naming.file.role is Role.RECORDING for naming in namings) and not has_no_row(location):
                yield location, namings
        for location, naming in named.missing.items():
            if not has_no_row(location) and not self._is_elsewhere(location, naming):
                yield location, [naming]

    def _is_elsewhere(self, location: str, naming: Naming) -> bool:
        """Whether another delivery of the release has a file that is not here, as an update repeats it."""
        repeated = self._newest.get(_item_id(naming.message, location))
        if repeated is None:
            return False
        digests = (naming.file.declared or Declared()).digests
        other_digests = (repeated.declared or Declared()).digests
        shared = digests.keys() & other_digests.keys()
        # In a watched folder the file may still come, unless it is known to be the same.
        if not shared:
            return not self._is_watched
        return all(digests[algorithm] == other_digests[algorithm] for algorithm in shared)

    def _release_of(self, folder: str) -> _ReleaseFolder | None:
        """Return the nearest release in whose folder a folder lies, or which it is; None if it is of none."""
        while self._releases and folder not in self._releases:
            above = posixpath.dirname(folder)
            if above == folder:
                return None
            folder = above
        return self._releases.get(folder)

    def _sort_batches(self) -> None:
        """Find which releases were sent together, when all messages are known."""
        children = Counter(posixpath.dirname(location) for location in self._releases)
        live: set[tuple[str, ...]] = set()
        names: set[tuple[str, ...]] = set()
        for message in self._messages():
            if not message.is_purge:
                live.update(_keys_of(message))
                names.add(message.item_names)
        releases: defaultdict[str, dict[str, Release]] = defaultdict(dict)
        for location, folder in self._releases.items():
            batch = self._folder_of_batch(location, children)
            self._batch_of[location] = batch
            newest = folder.newest
            releases[batch][location] = Release(
                sender="" if newest is None else newest.sender,
                is_apart=self._are_apart(folder.messages, live),
                is_whole=not any(file.is_cut_short for file in folder.broken),
                version=folder.version,
            )
        batches: dict[str, Batch] = {}
        for batch in releases:
            completion = self._completions.get(batch)
            batches[batch] = Batch(location=batch, completion=completion, releases=releases[batch])
        self.batches = batches
        self.counts.batches = len(batches)
        self.counts.releases = len(names)

    def _folder_of_batch(self, release: str, children: Mapping[str, int]) -> str:
        """Return the folder of a release, or the one above it if several releases, or a completion file, lie there."""
        above = posixpath.dirname(release)
        if release == self._top or release in self._completions or not is_within(above, self._top):
            return release
        if self._is_watched and above == self._top:  # there are the folders of suppliers
            return release
        is_batch = above in self._completions or children[above] > 1
        return above if is_batch else release

    def _messages(self) -> Iterator[ErnMessage]:
        for release in self._releases.values():
            yield from release.messages

    def _are_apart(self, messages: Sequence[ErnMessage], live: set[tuple[str, ...]]) -> bool:
        return bool(messages) and all(self._is_apart(message, live) for message in messages)

    def _is_apart(self, message: ErnMessage, live: set[tuple[str, ...]]) -> bool:
        """Whether nobody verifies or moves a message's files; a purge stays as long as what it withdraws."""
        if message.is_purge:
            return not live.isdisjoint(_keys_of(message))
        return message.is_test or self._is_withdrawn(message)

    def _is_withdrawn(self, message: ErnMessage) -> bool:
        return any(self._withdrawn.get(key, _NEVER) > message.order for key in _keys_of(message))

    def _find_repeated(self) -> None:
        # An update repeats files, or comes without them. So an item may lie in several folders.
        folders: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        for message in self._messages():
            folders[message.item_names].add(posixpath.dirname(message.location))
        for message in self._messages():
            if len(folders[message.item_names]) == 1:
                continue
            for file in self._unpacked(message).files:
                location = self._files.located(message, file)
                if location is not None and file.role is Role.RECORDING:
                    self._keep_newest(_item_id(message, location), _Repeated(message, file.declared))

    def _keep_newest(self, item_id: str, repeated: "_Repeated") -> None:
        before = self._newest.get(item_id)
        if before is None or before.message.order < repeated.message.order:
            self._newest[item_id] = repeated

    def _unpacked(self, message: ErnMessage) -> ErnMessage:
        packed: ErnMessage = pickle.loads(zlib.decompress(self._packed[message.location]))  # noqa: S301 - our own
        return packed

    def _named_files(self, release: _ReleaseFolder) -> NamedFiles:
        """Return what messages say of the files in a folder: of one release the newest, live ones before tests."""
        named = NamedFiles()
        said: set[tuple[tuple[str, ...], str]] = set()
        messages = sorted(release.messages, key=lambda message: (not message.is_test, message.order), reverse=True)
        for message in map(self._unpacked, messages):
            for file in message.files:
                location = self._files.located(message, file)
                place = expected(message, file) if location is None else location
                # The first message that names a file of its release is the newest one: older ones are out of date.
                if (message.item_names, place) in said:
                    continue
                said.add((message.item_names, place))
                naming = Naming(file, message)
                if location is None:
                    if file.role is Role.RECORDING:
                        named.missing.setdefault(place, naming)
                elif self._release_of(posixpath.dirname(location)) is release:
                    named.here.setdefault(location, []).append(naming)
        return named

    def _row_of(self, row: ManifestRow, namings: Sequence[Naming], release: _ReleaseFolder) -> ManifestRow:
        """Return the row of a file that is there, by what messages say of it."""
        recordings = [naming for naming in namings if naming.file.role is Role.RECORDING]
        if recordings:
            self.counts.files += 1
            # A release that is withdrawn, or a test, says nothing of a file that a live one names too.
            live = [naming for naming in recordings if self._finding(naming.message) is None] or recordings
            refused = row.refused or self._finding(live[0].message)
            if refused is None and row.audio in self._files.unfinished:
                unfinished = "A mark beside the file says that its download is not finished."
                refused = Ineligible(Reason.UNFINISHED, unfinished)
            # Of two releases that share a file, always the same one gives the item.
            naming = min(live, key=lambda naming: naming.message.item_names)
            row = self._placed(row, refused, release, naming)
            return replace(row, declared=_declared_by(live))
        if namings and row.refused is None:
            naming = namings[0]
            refused = Ineligible(Reason.CLIP, f"The message names it as a {naming.file.role}, and not as a recording.")
            return self._placed(row, refused, release, naming)
        return self._placed(row, row.refused or self._unnamed(release), release)

    def _unnamed(self, release: _ReleaseFolder) -> Ineligible:
        """Return why audio that no message names is not sent: a message that cannot be read may name it."""
        if release.broken:
            names = ", ".join(one_line(posixpath.basename(file.location)) for file in release.broken)
            reasons = {file.reason for file in release.broken}
            # What we may not open may name the file: no supplier is asked before that is known.
            reason = Reason.CLOSED_MESSAGE if Reason.CLOSED_MESSAGE in reasons else Reason.UNREADABLE_MESSAGE
            return Ineligible(reason, f"{names} cannot be read, and may name the file.")
        self.counts.unnamed += 1
        return Ineligible(Reason.NOT_IN_MESSAGE, "No message of this delivery names the file.")

    def _missing(self, row: ManifestRow, naming: Naming, release: _ReleaseFolder) -> ManifestRow:
        self.counts.files += 1
        refused = row.refused
        folder = posixpath.dirname(naming.message.location)
        if not is_within(row.audio or "", folder):
            leads_out = f"The message names a file outside of its folder {one_line(folder)}."
            refused = Ineligible(Reason.OUTSIDE_CATALOG, leads_out)
        elif row.audio_facts is None:
            self.counts.missing += 1
            where = one_line(path_within(naming.message.location, self._top))
            nearest = self._files.nearest_words(row.audio or "", naming.message, naming.file)
            because = f"{where} names this file, and it is not in the delivery.{nearest}"
            refused = refused or Ineligible(Reason.MISSING_AUDIO, because)
        return self._placed(row, self._finding(naming.message) or refused, release, naming)

    def _placed(
        self, row: ManifestRow, refused: Ineligible | None, release: _ReleaseFolder, naming: Naming | None = None
    ) -> ManifestRow:
        batch = self._batch_of[release.location]
        tags = {"batch": posixpath.basename(batch)}
        message = release.newest if naming is None else naming.message
        if message is not None and message.release_id:
            tags["release"] = message.release_id
        if naming is not None:
            item_id = self._own_item_id(naming.message, row.audio or "")
            row = replace(row, item_id=item_id, declared=naming.file.declared)
            tags = {**naming.file.tags, **naming.message.tags, **tags}
        return replace(
            row, tags=tags, refused=refused, batch=batch, release=release.location, judged_by=release.version
        )

    def _own_item_id(self, message: ErnMessage, location: str) -> str:
        """Return the ID of a file, which stays when its delivery moves, or comes once more."""
        # Of several deliveries in one catalog, the newest has it. In a watched folder each takes its turn.
        item_id = _item_id(message, location)
        newest = self._newest.get(item_id)
        if self._is_watched or newest is None:
            return item_id
        folder = posixpath.dirname(message.location)
        if posixpath.dirname(newest.message.location) == folder:
            return item_id
        return _hashed(item_id, path_within(folder, self._top))

    def _finding(self, message: ErnMessage) -> Ineligible | None:
        """Return why a file that a message names is not sent, whatever it holds; None if it is."""
        if message.is_test:
            shown = message.message_id or message.location
            return Ineligible(Reason.TEST_MESSAGE, f"Message {shown} is a TestMessage.")
        if self._is_withdrawn(message):
            return Ineligible(Reason.WITHDRAWN, f"{message.sender} withdrew the release {message.release_id} later.")
        return None

    def _absent_from(self, batch: Batch) -> list[str]:
        """Name the messages that a batch's manifest names and that are not in it, as it names them."""
        # A message is there if one of the batch has its ID, or the ID of its release, or if its location names a file
        # that is there, or a release's folder.
        sent: set[str] = set()
        for location in batch.releases:
            sent.add(composed(posixpath.basename(location)))
            for message in self._releases[location].messages:
                sent.update((message.message_id, message.release_id))
        absent: list[str] = []
        # A completion file that is no manifest, or that cannot be read, names no message.
        with suppress(SourceError), self._source.open(batch.completion or "") or nullcontext() as file:
            named = [] if file is None else list(messages_named(file))
            for words in named:
                if not words or not sent.isdisjoint(map(composed, words)):
                    continue
                name = words[0]
                if not self._files.are_alike(below(batch.location, name)):
                    absent.append(name)
        return absent


def _keys_of(message: ErnMessage) -> list[tuple[str, ...]]:
    """Return by what a release is known again: each of its IDs, of one sender; without any, the thread, or nothing."""
    kind = "test" if message.is_test else "live"
    ids = message.ids
    if not ids and message.thread_id:
        ids = (f"thread:{message.thread_id}",)
    elif not ids:
        ids = (f"message:{message.location}",)
    return [(kind, message.sender, release_id) for release_id in ids]


def _item_id(message: ErnMessage, location: str) -> str:
    """Return an ID made of the sender, the release, and the file as seen from its message's folder."""
    path = path_within(location, posixpath.dirname(message.location))
    return _hashed(*message.item_names, composed(path))


def _hashed(*names: str) -> str:
    content = b"\0".join(map(raw_bytes, names))
    return hashlib.sha256(content).hexdigest()[:32]


def _declared_by(namings: Iterable[Naming]) -> Declared | None:
    """Return what all messages together declare of a file that several of them name."""
    declared = Declared()
    for naming in namings:
        declared = declared.with_others(naming.file.declared or Declared())
    return declared or None
