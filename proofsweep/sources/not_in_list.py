"""Which audio lies beside the files of a list and is not named in it: nobody asks for it, and nothing says so."""

import posixpath
from array import array
from bisect import bisect_left
from collections.abc import Iterator

from proofsweep.config.locations import is_within, split_location
from proofsweep.domain.items import ManifestRow
from proofsweep.files.files import Files
from proofsweep.files.names import caseless, is_audio_name
from proofsweep.sources.catalog import CatalogBase

MOST_FOUND = 10_000  # of a list of a small part of a library, nobody wants to know the rest


class ListedFiles:
    """The files of this machine that a list names, and the folder that holds all of them; in eight bytes a file."""

    def __init__(self, base: CatalogBase) -> None:
        self._base = base
        self._hashes = array("q")
        self._top: str | None = None
        self._last_folder: str | None = None  # the files of one mostly stand together

    def add(self, row: ManifestRow) -> None:
        if row.audio is None or row.audio_facts is None or not row.audio.startswith("/"):
            return
        self._hashes.append(hash(caseless(row.named_audio)))
        folder, _ = split_location(row.audio)
        if folder == self._last_folder:
            return
        self._last_folder = folder
        if self._top is None or not is_within(folder, self._top):
            self._top = posixpath.commonpath([folder, self._top or folder])

    def others(self, files: Files) -> Iterator[str]:
        """Yield the locations of other audio, by its name, in that folder and below."""
        if self._top in {None, "/"}:
            return
        named = array("q", sorted(self._hashes))
        for folder in files.walk(str(self._top)):
            for name in filter(is_audio_name, folder.files):
                location = posixpath.join(folder.location, name)
                path = self._base.named(location)
                hashed = hash(caseless(path))
                at = bisect_left(named, hashed)
                is_named = at < len(named) and named[at] == hashed
                # The walk judges names from the folder where it begins, a person's patterns go from the root.
                if not is_named and not files.rule.is_excluded(path.lstrip("/")):
                    yield location
