"""Whether a folder or bucket can be read at all, and gives what it holds: the control of files that it did not give."""

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, islice

from proofsweep.config.locations import is_bucket
from proofsweep.domain.errors import ResourceShortage, SourceError
from proofsweep.domain.items import WorkItem
from proofsweep.sources.audio import open_audio
from proofsweep.sources.files import Files
from proofsweep.store.past_answers import AcceptedItem, PastAnswers
from proofsweep.verify.evidence import FILES_TRIED, KnownFiles

# So many files that were read before and cannot be read now show that the root is away, whatever it lists; and so many
# with other bytes, that it gives what nobody wrote.
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

    def gives_known_bytes(self, root: str) -> bool | None:
        """Whether an accepted file of a root still has its bytes; None if too few are there, of their size, to say so.

        Raises:
            ResourceShortage: this process cannot open a file now.
            ResultsError: the answers of earlier runs cannot be read.
        """
        known = {*self.known.accepted, *self.past.accepted()}
        smallest = sorted(each for each in known if self.known.root_of(each.audio) == root)
        same = (self._has_bytes(each) for each in smallest[:FILES_TRIED])
        read = list(islice((each for each in same if each is not None), _ENOUGH_FILES))
        return any(read) if len(read) == _ENOUGH_FILES else None

    def _has_bytes(self, item: AcceptedItem) -> bool | None:
        try:
            with open_audio(item.audio, self.files) as audio:
                is_same_size = audio.facts.size_bytes == item.audio_bytes
                return audio.read_through() == item.audio_sha256 if is_same_size else None
        except ResourceShortage:
            raise
        except SourceError:
            return None

    def _read_before(self, root: str) -> list[str]:
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
            return any(True for _ in self.files.buckets.listed(bucket, bad=set()))
        except SourceError:
            return False

    def _is_empty(self, folder: str) -> bool:
        walked = self.files.walk(folder)
        return next(walked).refused is None and not any(each.files for each in self.files.walk(folder))


def _folder_below(root: str, location: str) -> str:
    first, slash, _ = location.removeprefix(root).strip("/").partition("/")
    return posixpath.join(root, first) if slash else root
