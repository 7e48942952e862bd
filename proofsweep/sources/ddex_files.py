"""Find the files of deliveries: messages write their locations as the sender's machine has them, or as URLs."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from proofsweep.config.locations import is_windows, is_within
from proofsweep.sources.ddex_message import ErnMessage, NamedFile
from proofsweep.sources.files import below
from proofsweep.sources.names import Cause, why_awaited
from proofsweep.sources.source import Folder
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
        left_out = (name for names in folder.left_out.values() for name in names)
        for name in (*folder.files, *left_out):
            self._listed.add(posixpath.join(folder.location, name))
            self._names[folder.location].append(name)
        for name in folder.left_out.get(Cause.UNFINISHED, ()):
            if why_awaited(name) is None:  # a mark lies beside it; a message that gives an unfinished name means it
                self.unfinished.add(posixpath.join(folder.location, name))

    def are_alike(self, location: str) -> bool:
        return bool(self._listed.alike(location))

    def located(self, message: ErnMessage, file: NamedFile) -> str | None:
        """Return where the file lies that a message names, in its folder; None if it is not there."""
        return next((match.location for match in self._matches_of(message, file) if match.location is not None), None)

    def nearest_words(self, absent: str, message: ErnMessage, file: NamedFile) -> str:
        """Return what is there in place of a missing file, as sentences after a blank; empty if that is not known."""
        several = [match for match in self._matches_of(message, file) if match.several]
        if several:
            return several[0].words
        folder, name = posixpath.dirname(message.location), posixpath.basename(absent)
        resources = (posixpath.join(folder, each) for each in RESOURCES)
        folders = dict.fromkeys((folder, *resources, posixpath.dirname(absent)))
        names = [each for location in folders for each in self._names.get(location, ())]
        return Match(absent=name, nearest=self._likeness.nearest(name, by_stem(names))).words

    def _matches_of(self, message: ErnMessage, file: NamedFile) -> list[Match]:
        """Return what a named file finds in its message's folder, the likeliest first.

        The very name in another folder goes before another spelling of the name in the likeliest one.
        """
        inside = [path for path in _paths_of(message, file) if is_within(path, posixpath.dirname(message.location))]
        matches = [self._listed.match(path) for path in inside]
        exact = [match for path, match in zip(inside, matches, strict=True) if match.location == path]
        return exact or matches


def expected(message: ErnMessage, file: NamedFile) -> str:
    """Return where a missing file should be; of the paths that may be meant, one that leads out goes first."""
    paths, folder = _paths_of(message, file), posixpath.dirname(message.location)
    return next((path for path in paths if not is_within(path, folder)), paths[0])


def _paths_of(message: ErnMessage, file: NamedFile) -> list[str]:
    """Return the paths that a message may mean, each of the locations that it gives before the next one."""
    folder = posixpath.dirname(message.location)
    return [below(folder, path) for written in file.locations for path in candidates(written)] or [folder]


def candidates(written: str) -> Iterator[str]:
    """Yield the paths that a location may mean, as seen from the message's folder, the likeliest first.

    A backslash is a slash, unless a file is named with it.

    An absolute path and a URL are those of another machine: only their file names are looked for.
    """
    seen: set[str] = set()
    for path in _spellings(written):
        is_elsewhere = path.startswith("/") or is_windows(path) or _URL.match(path)
        near = path.rstrip("/").rpartition("/")[2] if is_elsewhere else path
        in_resources = () if ".." in near.split("/") else (posixpath.join(folder, near) for folder in RESOURCES)
        folder, _, name = near.removeprefix("./").partition("/")
        beside = (name,) if folder in RESOURCES and name else ()
        for each in (near, *in_resources, *beside):
            if near and each not in seen:
                seen.add(each)
                yield each


def _spellings(written: str) -> Iterator[str]:
    plain = written.partition("?")[0] if _URL.match(written) else written
    spellings = dict.fromkeys((plain, unquote(plain, errors="surrogateescape")))
    yield from (each.replace("\\", "/") for each in spellings)
    yield from (each for each in spellings if not is_windows(each))
