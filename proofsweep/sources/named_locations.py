"""Where a file may lie that a message names, and whether it is there: as written, and what senders mean by it."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from proofsweep.config.locations import is_bucket, is_windows, root_and_key
from proofsweep.domain.errors import SourceError
from proofsweep.sources.file_lookup import NameLookup, other_case
from proofsweep.sources.names import caseless
from proofsweep.sources.source import Folder, Source

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
