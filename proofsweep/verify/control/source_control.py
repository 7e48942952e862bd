"""Whether a folder or bucket can be read at all: the control of a file that cannot."""

import posixpath
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

from proofsweep.errors import ResourceShortage, SourceError
from proofsweep.files.audio import open_audio
from proofsweep.files.files import Files
from proofsweep.files.locations import is_bucket, is_within, root_and_key
from proofsweep.model.items import WorkItem
from proofsweep.store.past_answers import PastAnswers

# Files of a root that are tried in one control. Chosen: half may meet only files that were moved; twice waits longer
# for a server that does not answer.
_FILES_TRIED = 20
# So many files that were read before and cannot be read now show that the root is away, whatever it lists.
_ENOUGH_FILES = 3


@dataclass(slots=True, kw_only=True)
class SourceControl:
    """Looks at the roots of one leg's files; used by one thread at a time, but for `note`.

    Attributes:
        root: the catalog's, as a path or bucket URL; None if its files may lie anywhere.
    """

    files: Files
    past: PastAnswers
    root: str | None = None
    _read: dict[str, deque[str]] = field(default_factory=dict)

    def root_of(self, location: str) -> str:
        """Return the bucket, the catalog's root, or the folder in which a mount outside of it mostly lies."""
        if is_bucket(location):
            return root_and_key(location)[0]
        if self.root is not None and is_within(location, self.root):
            return self.root
        return "/".join(posixpath.dirname(location).split("/")[:3]) or "/"

    def note(self, location: str) -> None:
        """Keep a file that could be read."""
        root = self.root_of(location)
        if root not in self._read:
            self._read[root] = deque(maxlen=_FILES_TRIED)
        self._read[root].append(location)

    def can_be_read(self, root: str, suspects: Iterable[WorkItem]) -> bool:
        """Whether files of a root can be read that could be read before; where there are few, whether it lists any.

        A root that never held a file that we know of is taken as it is.

        Raises:
            ResourceShortage: this process cannot open a file now.
            ResultsError: the answers of earlier runs cannot be read.
        """
        suspects = list(suspects)
        if is_bucket(root):
            self.files.buckets.reopen(root)  # its credentials may have been renewed
        known = self._read_before(root)
        if any(map(self._opens, known)):
            return True
        held_files = bool(known) or any(item.ineligible is None for item in suspects)
        return not held_files or (len(known) < _ENOUGH_FILES and self._is_filled(root, suspects))

    def _read_before(self, root: str) -> list[str]:
        """Name files that were read in this leg, in an earlier one, or accepted in an earlier run."""
        read = list(self._read.get(root, ()))[::-1]  # a copy: other threads add to it
        known = chain(read or self.past.files_read(_FILES_TRIED), (each.audio for each in self.past.accepted()))
        return list(dict.fromkeys(each for each in known if self.root_of(each) == root))[:_FILES_TRIED]

    def _opens(self, location: str) -> bool:
        try:
            with open_audio(location, self.files):
                return True
        except ResourceShortage:
            raise
        except SourceError:
            return False

    def _is_filled(self, root: str, suspects: Iterable[WorkItem]) -> bool:
        """Whether the root lists files, and none of the folders directly in it that held a suspect is empty.

        Such an empty folder is mostly the point of a mount that is away.
        """
        if is_bucket(root):
            return self._lists(root)
        below = {_folder_below(root, item.audio) for item in suspects} - {root}
        return any(each.files for each in self.files.walk(root)) and not any(map(self._is_empty, below))

    def _lists(self, bucket: str) -> bool:
        try:
            return any(True for _ in self.files.buckets.listed(bucket))
        except SourceError:
            return False

    def _is_empty(self, folder: str) -> bool:
        """Whether a folder is there and holds no file; one that is gone was mostly deleted."""
        walked = self.files.walk(folder)
        return next(walked).refused is None and not any(each.files for each in self.files.walk(folder))


def _folder_below(root: str, location: str) -> str:
    """Return the folder directly in the root in which a location lies, or the root."""
    first, slash, _ = location.removeprefix(root).strip("/").partition("/")
    return posixpath.join(root, first) if slash else root
