"""Which files of a folder are messages of a delivery, and where a file lies that a message names."""

import posixpath
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from proofsweep.config.locations import is_bucket, is_windows, one_line, root_and_key
from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.sources.ddex_message import MANIFEST, NEW_RELEASE, PURGE, ErnMessage, read_message
from proofsweep.sources.file_lookup import NameLookup, other_case
from proofsweep.sources.names import caseless, composed
from proofsweep.sources.source import Folder, OpenFile, Source
from proofsweep.sources.xml_reader import HEAD_BYTES, elements, local_name, root_of


@dataclass(frozen=True, slots=True)
class Release:
    """A folder with a message, and what the newest of them that can be read says of the release."""

    location: str
    release_id: str = ""  # the ICPN; else the GRid, the proprietary ID or the catalog number; empty if there is none
    sender: str = ""  # the DPID, or a name; empty if the message cannot be read
    message_id: str = ""
    is_test: bool = False
    is_purged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Releases that were sent together, in one folder; one that came alone is a batch of its own."""

    location: str
    completion: str | None = None  # the location of the file that says that all is sent; None while it is not there
    releases: Mapping[str, Release] = field(default_factory=dict, hash=False)  # by the location of their folders


_COMPLETE = "batchcomplete"
_RELEASE_MESSAGES = frozenset({NEW_RELEASE, PURGE})
_WORDS = {
    "acknowledgementmessage": "a DDEX acknowledgement, which names no audio: give the message of a release",
    "ftpacknowledgementmessage": "a DDEX acknowledgement, which names no audio: give the message of a release",
    "cataloglistmessage": "a DDEX catalog list, which names no files: give the message of a release",
    "manifestmessage": "the manifest of a DDEX batch: give the batch's folder",
    "html": "an HTML page, and no DDEX message: ask the supplier to send the message again",
}


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
    return name.lower().startswith(_COMPLETE)


def is_xml_name(name: str) -> bool:
    return name.lower().endswith(".xml")


def has_message(folder: Folder, source: Source) -> bool:
    locations = (posixpath.join(folder.location, name) for name in folder.files if is_xml_name(name))
    return any((found := examine(each, source)) is not None and found.is_message for each in locations)


def examine(location: str, source: Source) -> XmlFile | None:
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
            return _examined(location, file)
        except SourceError as error:
            is_broken = error.reason == Reason.UNREADABLE_MESSAGE
            return XmlFile(location=location, facts=file.facts(), error=error.message) if is_broken else None


def _examined(location: str, file: OpenFile) -> XmlFile | None:
    facts, root = file.facts(), root_of(file.read_at(0, HEAD_BYTES))
    if root in _RELEASE_MESSAGES:
        return XmlFile(location=location, facts=facts, message=read_message(file))
    if root == MANIFEST:
        return _manifest(location, file)
    if root is not None and root.lower() != "html":
        return XmlFile(location=location, facts=facts)
    folder, name = posixpath.split(location)
    stem = posixpath.splitext(name)[0]
    is_named_so = f"{posixpath.basename(folder)}_".startswith(f"{stem}_")
    return XmlFile(location=location, facts=facts, message=read_message(file)) if is_named_so else None


def _manifest(location: str, file: OpenFile) -> XmlFile:
    try:
        deque(elements(file, ["MessageInBatch"]), maxlen=0)
    except SourceError as error:
        if error.reason != Reason.UNREADABLE_MESSAGE:
            raise
        return XmlFile(location=location, facts=file.facts())
    return XmlFile(location=location, facts=file.facts(), is_completion=True)


def refuse_other_xml(location: str, file: OpenFile) -> bool:
    """Return whether an XML file is the message of a release; CatalogError says which other one it is."""
    root = root_of(file.read_at(0, HEAD_BYTES))
    if root is not None and (words := _WORDS.get(root.lower())) is not None:
        raise CatalogError(f"{one_line(location)}: this is {words}")
    if root is not None and root not in _RELEASE_MESSAGES:
        return False
    try:
        read_message(file)
    except SourceError as error:
        if error.reason != Reason.UNREADABLE_MESSAGE:
            raise
        because = error.message.rstrip(".")
        raise CatalogError(f"{one_line(location)}: {because}: ask the supplier to send the message again") from error
    return True


def absent_messages(batch: Batch, source: Source) -> list[str]:
    """Name the messages that a batch's manifest names and that are not in it, as it names them.

    A message is there if a release of the batch has its ID, or the ID of its release, or if its location names the
    release's folder. A completion file that is no manifest, or that cannot be read, names none.
    """
    if batch.completion is None or not batch.completion.lower().endswith(".xml"):
        return []
    known = {composed(posixpath.basename(at)) for at in batch.releases}
    known |= {text for release in batch.releases.values() for text in (release.message_id, release.release_id) if text}
    try:
        return [
            words[0] for words in _named(batch.completion, source) if words and known.isdisjoint(map(composed, words))
        ]
    except SourceError:
        return []


def _named(location: str, source: Source) -> Iterator[list[str]]:
    """Yield for each message that a manifest names all words by which it may be known, its own location first."""
    file = source.open(location)
    if file is None:
        return
    with file:
        for element in elements(file, ["MessageInBatch"]):
            texts = {local_name(each): (each.text or "").strip() for each in element.iter()}
            url = unquote(texts.pop("URL", "")).replace("\\", "/").strip("/")
            folders = [
                posixpath.splitext(part)[0] if part.lower().endswith(".xml") else part for part in url.split("/")
            ]
            yield [text for text in (url, *folders, *texts.values()) if text]
            element.clear()


RESOURCES: Final = ("resources", "Resources")
"""Folders beside a message in which its files lie, when it gives their names alone."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


def candidates(written: str) -> Iterator[str]:
    """Yield the paths that a location may mean, as seen from the message's folder, the likeliest first.

    An absolute path and a URL are those of another machine: only their file names are looked for.
    """
    seen: set[str] = set()
    for path in _spellings(written):
        is_elsewhere = path.startswith("/") or is_windows(path) or _URL.match(path)
        near = path.rstrip("/").rpartition("/")[2] if is_elsewhere else path
        in_resources = () if ".." in near.split("/") else (posixpath.join(folder, near) for folder in RESOURCES)
        for each in (near, *in_resources, *_beside(near)):
            if near and each not in seen:
                seen.add(each)
                yield each


def _spellings(written: str) -> Iterator[str]:
    plain = written.partition("?")[0] if _URL.match(written) else written
    for each in (plain, unquote(plain, errors="surrogateescape")):
        yield each
        if "\\" in each:
            yield each.replace("\\", "/")


def _beside(path: str) -> Iterator[str]:
    folder, _, name = path.removeprefix("./").partition("/")
    if folder in RESOURCES and name:
        yield name


def below(folder: str, path: str) -> str:
    """Return the location of a path as seen from a folder or prefix; `..` is resolved in the text, up to its root."""
    top = root_and_key(folder)[0] if is_bucket(folder) else "/"
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part == "..":
            folder = folder if folder == top else posixpath.dirname(folder)
        elif part not in {"", "."}:
            parts.append(part)
    return posixpath.join(folder, *parts)


def leads_up(written: str) -> bool:
    return any(".." in each for each in _spellings(written))


class ListedFolders:
    """Folders by their location, and what is asked of a source for files that lie in none of them."""

    def __init__(self, source: Source, top: str) -> None:
        self._source = source
        self._folders: dict[str, Folder] = {}
        self._below: defaultdict[str, list[str]] = defaultdict(list)
        self._tops: set[str] = set()
        self._top = top
        self._lookup = NameLookup(self._names_in, top)

    def add(self, folder: Folder, *, is_top: bool) -> None:
        """Keep a folder; all that lies in a top one is listed, unless it is hidden."""
        self._folders[folder.location] = folder
        above, name = posixpath.split(folder.location)
        self._below[above].append(name)
        if is_top:
            self._tops.add(folder.location)

    def found(self, location: str) -> str | None:
        """Return the location of a file as it is listed, in whatever form of Unicode; None if it is absent."""
        if (listed := self._lookup.found(location)) is not None:
            return None if listed in self._folders else listed
        if "/." not in location and self.top_of(posixpath.dirname(location)) is not None:
            return None
        try:
            return None if self._source.facts(location) is None else location
        except SourceError:
            return location

    def hint(self, location: str) -> str:
        """Name in brackets a file whose name differs only in case from an absent one's; empty if none is there."""
        return other_case(self._lookup.found(location, caseless), self._top)

    def folder_of(self, location: str) -> str | None:
        """Return the nearest top folder that holds a folder as it is written, or in another form of Unicode."""
        return self.top_of(location) or self.top_of(self._lookup.found(location) or "")

    def top_of(self, location: str) -> str | None:
        """Return the nearest top folder that holds a folder, or is it."""
        while location and location not in self._tops:
            above = posixpath.dirname(location)
            location = "" if above == location else above
        return location or None

    def _names_in(self, location: str) -> list[str]:
        folder = self._folders.get(location)
        if folder is None:
            return self._below[location]
        left_out = (name for names in folder.left_out.values() for name in names)
        return [*self._below[location], *folder.files, *folder.unfinished, *left_out]
