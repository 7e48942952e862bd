"""Find the checksum lists beside the audio of a manifest: in its folder, and in those above it up to the root."""

import posixpath
from collections.abc import Iterator

from proofsweep.catalog.checksums.checksums import Checksums
from proofsweep.catalog.checksums.list_lines import is_list_name
from proofsweep.files.locations import is_within
from proofsweep.files.source import Source


class ListsBeside:
    """Looks into each folder of this machine once. In buckets, where looking is a listing, no list is searched.

    Attributes:
        unfinished: the locations of files in these folders that are still written.
    """

    def __init__(self, checksums: Checksums, source: Source, root: str) -> None:
        """Take the root, above which nothing is searched."""
        self._checksums = checksums
        self._source = source
        self._root = root
        self._read: set[str] = set()
        self.unfinished: set[str] = set()

    def read_for(self, audio: str) -> None:
        """Read the lists of a file, unless they were read for another one."""
        folder = posixpath.dirname(audio)
        if folder in self._read or not folder.startswith("/"):
            return
        for each in reversed([*self._new_folders(folder)]):
            found = next(self._source.walk(each))
            self.unfinished |= {posixpath.join(each, name) for name in found.unfinished}
            self._checksums.read_folder(each, [name for name in found.files if is_list_name(name)], found.files)

    def _new_folders(self, folder: str) -> Iterator[str]:
        self._read.add(folder)
        yield folder
        while is_within(folder, self._root) and folder != self._root:
            folder = posixpath.dirname(folder)
            if folder in self._read:
                return
            self._read.add(folder)
            yield folder
