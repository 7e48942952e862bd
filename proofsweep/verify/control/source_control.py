"""Whether a folder or bucket can be read at all: the control of a file that cannot."""

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from proofsweep.errors import ResourceShortage, SourceError
from proofsweep.files.audio import open_audio
from proofsweep.files.files import Files
from proofsweep.files.locations import is_bucket
from proofsweep.model.items import WorkItem
from proofsweep.store.past_answers import PastAnswers
from proofsweep.verify.control.evidence import FILES_TRIED, KnownFiles

# So many files that were read before and cannot be read now show that the root is away, whatever it lists.
_ENOUGH_FILES = 3


@dataclass(slots=True, kw_only=True)
class SourceControl:
    """Looks at the roots of one leg's files; used by one thread at a time."""

    files: Files
    past: PastAnswers
    known: KnownFiles

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
        read = self.known.read_in(root) or self.past.files_read(FILES_TRIED)
        locations = chain(read, (each.audio for each in self.past.accepted()))
        return list(dict.fromkeys(each for each in locations if self.known.root_of(each) == root))[:FILES_TRIED]

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
