"""Which files of a folder are messages of a delivery, or say that a batch is complete, and what its manifest lacks."""

import posixpath
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from proofsweep.config.locations import one_line
from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.sources.ern import read_message
from proofsweep.sources.messages import MANIFEST, NEW_RELEASE, PURGE, ErnMessage
from proofsweep.sources.names import composed
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
