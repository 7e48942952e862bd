"""The folders of deliveries as the scan listed them: whether a file that a message names is there."""

import posixpath
from collections.abc import Iterator
from functools import lru_cache
from unicodedata import normalize

from proofsweep.errors import SourceError
from proofsweep.files.source import Folder, Source

_KEPT = 64  # folders whose names are kept for look-ups


class ListedFolders:
    """Folders by their location, and what is asked of a source for files that lie in none of them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._folders: dict[str, Folder] = {}
        self._tops: set[str] = set()
        self._names = lru_cache(_KEPT)(lambda location: frozenset(self._folders[location].files))

    def add(self, folder: Folder, *, is_top: bool) -> None:
        """Keep a folder; all that lies in a top one is listed, unless it is hidden."""
        self._folders[folder.location] = folder
        if is_top:
            self._tops.add(folder.location)

    def found(self, location: str) -> str | None:
        """Return the location of a file as it is listed, in whatever form of Unicode; None if it is absent."""
        folder, name = posixpath.split(location)
        if folder in self._folders:
            if name in (names := self._names(folder)):
                return location
            wanted = None if name.isascii() else normalize("NFC", name)
            same = next((each for each in sorted(names) if wanted and normalize("NFC", each) == wanted), None)
            return None if same is None else posixpath.join(folder, same)
        if "/." not in location and self.top_of(folder) is not None:
            return None
        try:
            return None if self._source.facts(location) is None else location
        except SourceError:
            return location

    def top_of(self, location: str) -> str | None:
        """Return the nearest top folder that holds a folder, or is it."""
        return next((each for each in _upwards(location) if each in self._tops), None)


def _upwards(location: str) -> Iterator[str]:
    before = ""
    while location and location != before:
        yield location
        before, location = location, posixpath.dirname(location)
