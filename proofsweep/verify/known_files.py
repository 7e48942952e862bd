"""What a leg knows of files: those that were read, and those that were accepted; and whether a root of them is away."""

import posixpath
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

from proofsweep.config.locations import is_bucket, is_within, root_and_key
from proofsweep.domain.errors import ResourceShortage, SourceError
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import Accepted, Finished
from proofsweep.sources.audio import open_audio
from proofsweep.sources.files import Files
from proofsweep.store.known_rows import AcceptedItem, PastAnswers

_ACCEPTED_KEPT = 32
_FILES_TRIED = 20  # of a root, to see whether it is away


@dataclass(slots=True)
class KnownFiles:
    """Files that were read, and items that were accepted, in this leg or before; threads may note them at any time."""

    root: str | None  # the catalog's, as a path or bucket URL; None if its files may lie anywhere
    past: PastAnswers
    is_emptied: bool = False  # a drop folder: what was accepted there was moved away
    _accepted: deque[AcceptedItem] = field(default_factory=lambda: deque(maxlen=_ACCEPTED_KEPT))
    _read: dict[str, deque[str]] = field(default_factory=dict)

    def root_of(self, location: str) -> str:
        """Return the bucket, the catalog's root, or the folder in which a mount outside of it mostly lies."""
        if is_bucket(location):
            return root_and_key(location)[0]
        if self.root is not None and is_within(location, self.root):
            return self.root
        return "/".join(posixpath.dirname(location).split("/")[:3]) or "/"

    def note(self, done: Finished) -> None:
        item, read = done.item, done.read
        if read is None or read.version is None:
            return
        self._read.setdefault(self.root_of(item.audio), deque(maxlen=_FILES_TRIED)).append(item.audio)
        if isinstance(done.outcome, Accepted) and done.original is None and read.sha256 is not None:
            accepted = AcceptedItem(read.size_bytes, item.audio, item.sidecar, read.sha256, read.sidecar_sha256)
            self._accepted.append(accepted)

    def accepted(self) -> list[AcceptedItem]:
        """Return accepted items by their size; ResultsError if the answers of earlier runs cannot be read."""
        return sorted({*self._accepted.copy(), *self.past.accepted()}, key=lambda each: (each.audio_bytes, each.audio))

    def is_away(self, root: str, missing: Iterable[WorkItem], files: Files) -> bool:
        """Whether a root lacks more than half of the files that were read before; if none were, whether it is empty.

        A root that never held a file that we know of is taken as it is. ResourceShortage if this process cannot open a
        file now, ResultsError if the answers of earlier runs cannot be read.
        """
        if is_bucket(root):
            files.buckets.reopen(root)  # its credentials may have been renewed
        if read := self._read_in(root):
            return 2 * sum(_opens(location, files) for location in read) < len(read)
        held_files = any(item.ineligible is None for item in missing)
        folders = {root, *(_folder_below(root, item.audio) for item in missing)}
        return held_files and any(_is_empty(folder, files) for folder in folders)

    def _read_in(self, root: str) -> list[str]:
        """Name files of a root that could be read: in this leg, in the legs before it, or else in other runs."""
        in_this_leg = self._read.get(root, deque[str]()).copy()
        accepted = [] if self.is_emptied else self.past.accepted()
        before = chain(self.past.files_read(_FILES_TRIED), (each.audio for each in accepted))
        locations = in_this_leg or [each for each in before if self.root_of(each) == root]
        return list(dict.fromkeys(locations))[:_FILES_TRIED]


def _opens(location: str, files: Files) -> bool:
    try:
        with open_audio(location, files):
            return True
    except ResourceShortage:
        raise
    except SourceError:
        return False


def _is_empty(folder: str, files: Files) -> bool:
    """Whether a folder that is there, or a bucket, holds no file: mostly it is the point of a mount that is away."""
    if not is_bucket(folder):
        return next(files.walk(folder)).refused is None and not any(each.files for each in files.walk(folder))
    try:
        return not any(True for _ in files.buckets.listed(folder))
    except SourceError:
        return True


def _folder_below(root: str, location: str) -> str:
    first, slash, _ = location.removeprefix(root).strip("/").partition("/")
    return posixpath.join(root, first) if slash and not is_bucket(root) else root
