"""Find the files of deliveries: messages write their locations as the sender's machine has them, or as URLs."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from proofsweep.config.locations import is_windows, is_within
from proofsweep.files.files import below
from proofsweep.files.folder_listing import Cause, Folder, why_awaited
from proofsweep.sources.ddex_message import ErnMessage, NamedFile
from proofsweep.sources.spelling import KnownPaths, Likeness, Match, by_stem

RESOURCES: Final = ("resources", "Resources")
"""Folders beside a message in which its files lie, when it gives their names alone."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


class DeliveredFiles:
    """The files of the deliveries of one scan, which are found by any spelling."""

    def __init__(self) -> None:
        self.unfinished: set[str] = set()  # those that are still written
        self._listed = KnownPaths()
        self._names: defaultdict[str, list[str]] = defaultdict(list)  # by their folders
        self._likeness = Likeness()

    def add(self, folder: Folder) -> None:
        names = list(folder.files)
        for left_out in folder.left_out.values():
            names += left_out
        self._names[folder.location] += names
        for name in names:
            self._listed.add(posixpath.join(folder.location, name))
        for name in folder.left_out.get(Cause.UNFINISHED, ()):
            if why_awaited(name) is None:  # a mark lies beside it; a message that gives an unfinished name means it
                self.unfinished.add(posixpath.join(folder.location, name))

    def are_alike(self, location: str) -> bool:
        return bool(self._listed.alike(location))

    def located(self, message: ErnMessage, file: NamedFile) -> str | None:
        """Return where the file lies that a message names, in its folder; None if it is not there."""
        for match in self._matches_of(message, file):
            if match.location is not None:
                return match.location
        return None

    def nearest_words(self, absent: str, message: ErnMessage, file: NamedFile) -> str:
        """Return what is there in place of a missing file, as sentences after a blank; empty if that is not known."""
        for match in self._matches_of(message, file):
            if match.several:
                return match.words
        folder = posixpath.dirname(message.location)
        name = posixpath.basename(absent)
        resources = [posixpath.join(folder, resource_folder) for resource_folder in RESOURCES]
        names: list[str] = []
        for location in dict.fromkeys((folder, *resources, posixpath.dirname(absent))):
            names += self._names.get(location, ())
        nearest = self._likeness.nearest(name, by_stem(names))
        return Match(absent=name, nearest=nearest).words

    def _matches_of(self, message: ErnMessage, file: NamedFile) -> list[Match]:
        """Return what a named file finds in its message's folder, the likeliest first."""
        folder = posixpath.dirname(message.location)
        exact: list[Match] = []
        matches: list[Match] = []
        for path in _paths_of(message, file):
            if not is_within(path, folder):
                continue
            match = self._listed.match(path)
            matches.append(match)
            if match.location == path:
                exact.append(match)
        # The very name in another folder goes before another spelling of the name in the likeliest one.
        return exact or matches


def expected(message: ErnMessage, file: NamedFile) -> str:
    """Return where a missing file should be; of the paths that may be meant, one that leads out goes first."""
    paths = _paths_of(message, file)
    folder = posixpath.dirname(message.location)
    for path in paths:
        if not is_within(path, folder):
            return path
    return paths[0]


def _paths_of(message: ErnMessage, file: NamedFile) -> list[str]:
    """Return the paths that a message may mean, each of the locations that it gives before the next one."""
    folder = posixpath.dirname(message.location)
    paths: list[str] = []
    for written in file.locations:
        paths += [below(folder, path) for path in candidates(written)]
    return paths or [folder]


def candidates(written: str) -> Iterator[str]:
    """Yield the paths that a location may mean, as seen from the message's folder, the likeliest first."""
    seen: set[str] = set()
    for path in _spellings(written):
        # An absolute path and a URL are those of another machine: only their file names are looked for.
        if path.startswith("/") or is_windows(path) or _URL.match(path):
            near = posixpath.basename(path.rstrip("/"))
        else:
            near = path
        for candidate in _places_of(near):
            if near and candidate not in seen:
                seen.add(candidate)
                yield candidate


def _places_of(path: str) -> Iterator[str]:
    """Yield a path, and the same with a folder of resources before it, or without the one before it."""
    yield path
    if ".." not in path.split("/"):
        for resource_folder in RESOURCES:
            yield posixpath.join(resource_folder, path)
    folder, _, name = path.removeprefix("./").partition("/")
    if folder in RESOURCES and name:
        yield name


def _spellings(written: str) -> Iterator[str]:
    plain = written
    if _URL.match(written):
        plain = written.partition("?")[0]
    spellings = dict.fromkeys((plain, unquote(plain, errors="surrogateescape")))
    # A backslash is a slash, unless a file is named with it.
    for spelling in spellings:
        yield spelling.replace("\\", "/")
    for spelling in spellings:
        if not is_windows(spelling):
            yield spelling
