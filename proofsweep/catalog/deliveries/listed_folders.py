"""The folders of deliveries as the scan listed them: whether a file that a message names is there."""

import posixpath
from collections import defaultdict
from collections.abc import Iterator

from proofsweep.catalog.name_lookup import NameLookup
from proofsweep.errors import SourceError
from proofsweep.files.source import Folder, Source


class ListedFolders:
    """Folders by their location, and what is asked of a source for files that lie in none of them."""

    def __init__(self, source: Source, top: str) -> None:
        """Take the location that is scanned."""
        self._source = source
        self._folders: dict[str, Folder] = {}
        self._below: defaultdict[str, list[str]] = defaultdict(list)
        self._tops: set[str] = set()
        self._lookup = NameLookup(self._names_in, top)
        self.hint = self._lookup.hint

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

    def folder_of(self, location: str) -> str | None:
        """Return the nearest top folder that holds a folder as it is written, or in another form of Unicode."""
        return self.top_of(location) or self.top_of(self._lookup.found(location) or "")

    def top_of(self, location: str) -> str | None:
        """Return the nearest top folder that holds a folder, or is it."""
        return next((each for each in _upwards(location) if each in self._tops), None)

    def _names_in(self, location: str) -> list[str]:
        folder = self._folders.get(location)
        if folder is None:
            return self._below[location]
        left_out = (name for names in folder.left_out.values() for name in names)
        return [*self._below[location], *folder.files, *folder.unfinished, *left_out]


def _upwards(location: str) -> Iterator[str]:
    before = ""
    while location and location != before:
        yield location
        before, location = location, posixpath.dirname(location)
