"""Take the folders of deliveries out of a scan, and give their rows when all messages are known."""

import pickle
import posixpath
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple
from urllib.parse import unquote

from proofsweep.config.locations import is_windows, is_within, one_line, path_within
from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import ManifestRow
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.catalog import DeliveryCounts
from proofsweep.sources.ddex_message import (
    ErnMessage,
    NamedFile,
    XmlFile,
    is_completion_name,
    messages_named,
)
from proofsweep.sources.files import Files, below
from proofsweep.sources.names import Cause, composed, why_awaited
from proofsweep.sources.source import Folder
from proofsweep.sources.spelling import KnownPaths, Likeness, Match, by_stem

_RESOURCES: Final = ("resources", "Resources")
"""Folders beside a message in which its files lie, when it gives their names alone."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_NEVER: Final = (float("-inf"), "", "")


@dataclass(frozen=True, slots=True)
class Release:
    """What the messages in a folder that can be read say of its releases."""

    sender: str = ""  # of the newest one, its DPID or a name; empty if no message can be read
    is_apart: bool = False  # all are tests, or withdrawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Releases that were sent together, in one folder; one that came alone is a batch of its own."""

    location: str
    completion: str | None = None  # the location of the file that says that all is sent; None while it is not there
    releases: Mapping[str, Release] = field(default_factory=dict, hash=False)  # by the location of their folders


class Naming(NamedTuple):
    file: NamedFile
    message: ErnMessage


@dataclass(slots=True)
class NamedFiles:
    """What messages say of the files of one release's folder, by their locations."""

    here: dict[str, Naming] = field(default_factory=dict)
    missing: list[tuple[str, Naming]] = field(default_factory=list)  # what is not there, with where it should be
    no_rows: dict[str, Cause] = field(default_factory=dict)  # clips, what is no audio, and files that were sent again


NOTHING_NAMED: Final = NamedFiles()
"""Of a folder without messages."""


@dataclass(slots=True, kw_only=True)
class _ReleaseFolder:
    """A folder with messages, and all that lies below it."""

    location: str
    messages: list[ErnMessage] = field(default_factory=list)  # without what they say of files
    broken: list[XmlFile] = field(default_factory=list)  # its messages that cannot be read
    folders: list[Folder] = field(default_factory=list)

    @property
    def newest(self) -> ErnMessage | None:
        return max(self.messages, key=lambda each: each.order, default=None)


class Deliveries:
    """The deliveries of one scan; its counts are complete after the last row, its batches before the first."""

    def __init__(self, top: str, source: Files) -> None:
        self.counts = DeliveryCounts()
        self.batches: Mapping[str, Batch] = {}
        self._top = top
        self._source = source
        self._packed: dict[str, bytes] = {}  # messages by their locations, compressed: there may be ten thousand
        self._listed = KnownPaths()  # the files of releases
        self._names: defaultdict[str, list[str]] = defaultdict(list)  # of these, by their folders
        self._unfinished: set[str] = set()  # of these, those that are still written
        self._likeness = Likeness()
        self._releases: dict[str, _ReleaseFolder] = {}
        self._threads: dict[str, list[ErnMessage]] = {}  # by each message, all of its release, the newest last
        self._withdrawn: dict[tuple[str, ...], tuple[float, str, str]] = {}  # when releases were, by their keys
        self._completions: dict[str, str] = {}
        self._batch_of: dict[str, str] = {}

    @property
    def are_there(self) -> bool:
        return bool(self._releases)

    def take(self, folder: Folder, xml: Sequence[XmlFile]) -> tuple[Folder | None, list[XmlFile]]:
        """Keep a folder of a delivery, or return it without XML that cannot be audio; and the messages in it."""
        messages = [each for each in xml if each.is_message]
        completions = [posixpath.join(folder.location, name) for name in folder.files if is_completion_name(name)]
        completions += [each.location for each in xml if each.is_completion]
        if completions:
            self._completions[folder.location] = completions[0]
        if messages:
            self._releases[folder.location] = release = _ReleaseFolder(location=folder.location)
            release.broken += [each for each in messages if each.message is None]
            for message in (each.message for each in messages if each.message is not None):
                self._packed[message.location] = zlib.compress(pickle.dumps(message))
                release.messages.append(replace(message, files=(), no_rows=()))
        known = {posixpath.basename(each.location) for each in xml}
        left = replace(folder, files=[name for name in folder.files if name not in known]) if known else folder
        if (above := self._release_of(folder.location)) is None:
            return left, messages
        left_out = (name for names in folder.left_out.values() for name in names)
        for name in (*folder.files, *left_out):
            self._listed.add(posixpath.join(folder.location, name))
            self._names[folder.location].append(name)
        for name in folder.left_out.get(Cause.UNFINISHED, ()):
            if why_awaited(name) is None:  # a mark lies beside it; a message that gives an unfinished name means it
                self._unfinished.add(posixpath.join(folder.location, name))
        above.folders.append(left)
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
            found = self._named_files(release)
            for folder in release.folders:
                for row in rows_in(folder, found):
                    naming = found.here.pop(row.audio or "", None)
                    if naming is not None:
                        self.counts.files += 1
                        yield self._placed(row, row.refused or self._finding(naming.message), release, naming)
                    else:
                        yield self._unnamed(row, release)
            for location, naming in (*found.here.items(), *found.missing):
                if not has_no_row(location):
                    yield self._missing(row_at(location), naming, release)
            for each in release.broken:
                self.counts.unreadable += 1
                refused = Ineligible(Reason.UNREADABLE_MESSAGE, each.error or "")
                yield self._placed(row_at(each.location), refused, release)
        refused = Ineligible(Reason.MISSING_AUDIO, "The manifest of the batch names this message, and it is not there.")
        for location, batch in self.batches.items():
            for name in self._absent_from(batch):
                self.counts.missing += 1
                row = row_at(below(location, next(candidates(name), name)))
                yield replace(row, refused=refused, tags={"batch": posixpath.basename(location)}, batch=location)

    def _release_of(self, folder: str) -> _ReleaseFolder | None:
        """Return the nearest release in whose folder a folder lies, or which it is; None if it is of none."""
        while self._releases and folder not in self._releases:
            above = posixpath.dirname(folder)
            if above == folder:
                return None
            folder = above
        return self._releases.get(folder)

    def _settle(self) -> None:
        """Find which messages are of one release, what was withdrawn, and the batches, when all messages are known."""
        messages = (message for release in self._releases.values() for message in release.messages)
        by_key: dict[tuple[str, ...], list[ErnMessage]] = {}
        for message in sorted(messages, key=lambda each: each.order):
            keys = _keys_of(message)
            if message.is_purge:
                self._withdrawn.update(dict.fromkeys(keys, message.order))
                continue
            thread = next((by_key[key] for key in keys if key in by_key), None) or []
            by_key.update(dict.fromkeys(keys, thread))
            thread.append(message)
            self._threads[message.location] = thread
        children = Counter(posixpath.dirname(location) for location in self._releases)
        alone = {self._top, *self._completions}
        found: defaultdict[str, dict[str, Release]] = defaultdict(dict)
        for location, folder in self._releases.items():
            above, newest = posixpath.dirname(location), folder.newest
            is_below = location not in alone and is_within(above, self._top)
            is_batch = is_below and (above in self._completions or children[above] > 1)
            self._batch_of[location] = batch = above if is_batch else location
            is_apart = [each.is_test or self._is_withdrawn(each) for each in folder.messages]
            sender = "" if newest is None else newest.sender
            found[batch][location] = Release(sender, bool(is_apart) and all(is_apart))
        self.batches = {
            location: Batch(location=location, completion=self._completions.get(location), releases=releases)
            for location, releases in found.items()
        }
        self.counts.batches = len(self.batches)
        self.counts.releases = len({id(thread) for thread in self._threads.values()})

    def _is_withdrawn(self, message: ErnMessage) -> bool:
        times = (self._withdrawn.get(key, _NEVER) for key in _keys_of(message))
        return message.is_purge or max(times, default=_NEVER) > message.order

    def _named_files(self, release: _ReleaseFolder) -> NamedFiles:
        """Return what messages say of the files in a folder; live ones go before tests, newer before older."""
        found = NamedFiles()
        threads = {id(thread): thread for each in release.messages if (thread := self._threads.get(each.location))}
        for thread in sorted(threads.values(), key=lambda each: (not each[-1].is_test, each[-1].order), reverse=True):
            packed = (self._packed[each.location] for each in reversed(thread))
            messages = [pickle.loads(zlib.decompress(each)) for each in packed]  # noqa: S301 - this process wrote them
            found.no_rows |= dict.fromkeys(self._add_named(found, messages, release), Cause.REPLACED)
            for message in messages:
                for written, cause in message.no_rows:
                    found.no_rows |= dict.fromkeys(self._located_in(message, written), cause)
        found.no_rows = {each: cause for each, cause in found.no_rows.items() if each not in found.here}
        return found

    def _add_named(self, found: NamedFiles, messages: Sequence[ErnMessage], release: _ReleaseFolder) -> set[str]:
        """Add the files that a release's messages, newest first, name here or nowhere; return what they replaced."""
        namings: dict[str, tuple[Naming, list[ErnMessage]]] = {}
        for message in messages:
            for file in message.files:
                namings.setdefault(file.location, (Naming(file, message), []))[1].append(message)
        replaced: set[str] = set()
        for naming, naming_it in namings.values():
            written = naming.file.location
            locations = [each for message in naming_it for each in self._located_in(message, written)]
            if locations and self._release_of(posixpath.dirname(locations[0])) is release:
                found.here.setdefault(locations[0], naming)
            elif not locations and posixpath.dirname(naming.message.location) == release.location:
                found.missing.append((_expected(naming), naming))
            replaced.update(each for each in locations[1:] if each != locations[0])
        return replaced

    def _located_in(self, message: ErnMessage, written: str) -> list[str]:
        """Return where the file lies that a message names, in its folder; nothing if it is not there."""
        matches = self._matches_of(message, written)
        found = [match.location for match in matches if match.location is not None]
        return found[:1]

    def _matches_of(self, message: ErnMessage, written: str) -> list[Match]:
        """Return what a named location finds in its message's folder, the likeliest first.

        The very name in another folder goes before another spelling of the name in the likeliest one.
        """
        folder = posixpath.dirname(message.location)
        paths = [below(folder, path) for path in candidates(written)]
        inside = [path for path in paths if is_within(path, folder)]
        matches = [self._listed.match(path) for path in inside]
        exact = [match for path, match in zip(inside, matches, strict=True) if match.location == path]
        return exact or matches

    def _unnamed(self, row: ManifestRow, release: _ReleaseFolder) -> ManifestRow:
        if row.refused is not None:
            return self._placed(row, row.refused, release)
        self.counts.unnamed += 1
        broken = "".join(f" {one_line(posixpath.basename(each.location))} cannot be read." for each in release.broken)
        detail = f"No message of this delivery names the file.{broken}"
        return self._placed(row, Ineligible(Reason.NOT_IN_MESSAGE, detail), release)

    def _missing(self, row: ManifestRow, naming: Naming, release: _ReleaseFolder) -> ManifestRow:
        self.counts.files += 1
        refused, folder = row.refused, posixpath.dirname(naming.message.location)
        if not is_within(row.audio or "", folder):
            leads_out = f"The message names a file outside of its folder {one_line(folder)}."
            refused = Ineligible(Reason.OUTSIDE_CATALOG, leads_out)
        elif row.audio_facts is None:
            self.counts.missing += 1
            where = one_line(path_within(naming.message.location, self._top))
            because = f"{where} names this file, and it is not in the delivery.{self._nearest_words(row, naming)}"
            refused = refused or Ineligible(Reason.MISSING_AUDIO, because)
        elif row.audio in self._unfinished:
            refused = Ineligible(Reason.UNFINISHED, "A mark beside the file says that its download is not finished.")
        return self._placed(row, self._finding(naming.message) or refused, release, naming)

    def _nearest_words(self, row: ManifestRow, naming: Naming) -> str:
        several = [match for match in self._matches_of(naming.message, naming.file.location) if match.several]
        if several:
            return several[0].words
        folder, absent = posixpath.dirname(naming.message.location), posixpath.basename(row.audio or "")
        folders = (folder, *(posixpath.join(folder, each) for each in _RESOURCES), posixpath.dirname(row.audio or ""))
        names = [name for each in dict.fromkeys(folders) for name in self._names.get(each, ())]
        return Match(absent=absent, nearest=self._likeness.nearest(absent, by_stem(names))).words

    def _placed(
        self, row: ManifestRow, refused: Ineligible | None, release: _ReleaseFolder, naming: Naming | None = None
    ) -> ManifestRow:
        batch = self._batch_of[release.location]
        tags = {"batch": posixpath.basename(batch)}
        message = release.newest if naming is None else naming.message
        if message is not None and message.release_id:
            tags["release"] = message.release_id
        if naming is not None:
            row = replace(row, item_id=naming.file.item_id, declared=naming.file.declared)
            tags = {**naming.file.tags, **naming.message.tags, **tags}
        return replace(row, tags=tags, refused=refused, batch=batch, release=release.location)

    def _finding(self, message: ErnMessage) -> Ineligible | None:
        """Return why a file that a message names is not sent, whatever it holds; None if it is."""
        if message.is_test:
            shown = message.message_id or message.location
            return Ineligible(Reason.TEST_MESSAGE, f"Message {shown} is a TestMessage.")
        if self._is_withdrawn(message):
            return Ineligible(Reason.WITHDRAWN, f"{message.sender} withdrew the release {message.release_id} later.")
        return None

    def _absent_from(self, batch: Batch) -> list[str]:
        """Name the messages that a batch's manifest names and that are not in it, as it names them.

        A message is there if one of the batch has its ID, or the ID of its release, or if its location names a file
        that is there, or a release's folder. A completion file that is no manifest, or that cannot be read, names none.
        """
        known = {composed(posixpath.basename(at)) for at in batch.releases}
        messages = (each for at in batch.releases for each in self._releases[at].messages)
        known |= {text for each in messages for text in (each.message_id, each.release_id)}
        with suppress(SourceError), self._source.open(batch.completion or "") or nullcontext() as file:
            named = filter(None, () if file is None else messages_named(file))
            absent = [words[0] for words in named if known.isdisjoint(map(composed, words))]
            return [each for each in absent if not self._listed.alike(below(batch.location, each))]
        return []


def _keys_of(message: ErnMessage) -> list[tuple[str, ...]]:
    """Return by what a release is known again: each of its IDs, of one sender; without any, the thread, or nothing."""
    kind, thread = "test" if message.is_test else "live", message.thread_id
    ids = message.ids or ((f"thread:{thread}",) if thread else (f"message:{message.location}",))
    return [(kind, message.sender, each) for each in ids]


def _expected(naming: Naming) -> str:
    """Return where a missing file should be; of the paths that may be meant, one that leads out goes first."""
    folder = posixpath.dirname(naming.message.location)
    paths = [below(folder, each) for each in candidates(naming.file.location)] or [folder]
    return next((each for each in paths if not is_within(each, folder)), paths[0])


def candidates(written: str) -> Iterator[str]:
    """Yield the paths that a location may mean, as seen from the message's folder, the likeliest first.

    A backslash is a slash, unless a file is named with it.

    An absolute path and a URL are those of another machine: only their file names are looked for.
    """
    seen: set[str] = set()
    for path in _spellings(written):
        is_elsewhere = path.startswith("/") or is_windows(path) or _URL.match(path)
        near = path.rstrip("/").rpartition("/")[2] if is_elsewhere else path
        in_resources = () if ".." in near.split("/") else (posixpath.join(folder, near) for folder in _RESOURCES)
        folder, _, name = near.removeprefix("./").partition("/")
        beside = (name,) if folder in _RESOURCES and name else ()
        for each in (near, *in_resources, *beside):
            if near and each not in seen:
                seen.add(each)
                yield each


def _spellings(written: str) -> Iterator[str]:
    plain = written.partition("?")[0] if _URL.match(written) else written
    spellings = dict.fromkeys((plain, unquote(plain, errors="surrogateescape")))
    yield from (each.replace("\\", "/") for each in spellings)
    yield from (each for each in spellings if not is_windows(each))
