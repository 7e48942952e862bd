"""Walk the folders of this machine: each once, however links lead to it."""

import os
import posixpath
from collections import deque
from collections.abc import Iterator

from proofsweep.files.containment import outside_catalog
from proofsweep.files.locations import is_within
from proofsweep.files.source import Folder
from proofsweep.model.reasons import Ineligible, Reason


class LocalFolders:
    """One walk: the folder and the folders in it, then the folders that links lead to.

    A folder that was walked already is not walked again, so folders that link to each other end. The real folders come
    first, so that a file has the same name whether a link leads to its folder or not.
    """

    def __init__(self, root: str | None = None) -> None:
        """Take the folder that no link may lead out of, without links in its own path; None for anywhere."""
        self._root = root
        self._tops: set[str] = set()
        self._links: deque[str] = deque()

    def walk(self, location: str) -> Iterator[Folder]:
        """Yield each folder before its own subfolders; one that is not walked is given without files."""
        self._links.append(location)
        while self._links:
            path = self._links.popleft()
            real = os.path.realpath(path)
            if self._root is not None and not is_within(real, self._root):
                refused = Ineligible(Reason.OUTSIDE_CATALOG, outside_catalog(self._root).message)
                yield Folder(location=path, files=[], refused=refused)
            elif self._is_walked(real):
                yield Folder(location=path, files=[], is_repeated=True)
            else:
                yield from self._tree(path, real)

    def _tree(self, top: str, real_top: str) -> Iterator[Folder]:
        waiting = [(top, real_top)]
        while waiting:
            path, real = waiting.pop()
            if real in self._tops:  # a link led to it before
                yield Folder(location=path, files=[], is_repeated=True)
                continue
            try:
                folder, below, links = _look_into(path)
            except OSError as error:
                unreadable = f"The folder cannot be read: {error.strerror}."
                yield Folder(location=path, files=[], refused=Ineligible(Reason.UNREADABLE_FOLDER, unreadable))
                continue
            yield folder
            self._links += [posixpath.join(path, name) for name in links]
            waiting += [(posixpath.join(path, name), posixpath.join(real, name)) for name in reversed(below)]
        self._tops.add(real_top)

    def _is_walked(self, real: str) -> bool:
        """Return whether a walked tree holds a folder; hidden folders are in no walked tree."""
        above = real
        while above not in self._tops:
            above, name = posixpath.split(above)
            if not name or name.startswith("."):
                return False
        return True


def _look_into(path: str) -> tuple[Folder, list[str], list[str]]:
    """Read one folder; give it with the names of its subfolders, and of its links to folders."""
    files: list[str] = []
    folders: list[str] = []
    links: list[str] = []
    hidden: list[str] = []
    others: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                hidden.append(entry.name)
            elif _is_folder(entry):
                (links if entry.is_symlink() else folders).append(entry.name)
            else:
                (files if _is_file(entry) else others).append(entry.name)
    for names in (files, folders, links, hidden, others):
        names.sort(key=os.fsencode)
    return Folder(location=path, files=files, hidden=hidden, unreadable=others), folders, links


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Count a link that leads nowhere as a file, since somebody expects a file there."""
    try:
        return entry.is_file() or (entry.is_symlink() and not posixpath.exists(entry.path))
    except OSError:
        return entry.is_symlink()
