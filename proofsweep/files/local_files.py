"""Read and list files of this machine, whatever stands at their names, and wherever links lead.

A hard mount whose server is gone keeps a thread for hours, and no signal frees it. A thread of its own for each read
would cost more than the read. So each thread notes what it waits for, and a watch looks at that now and then.
"""

import errno
import glob
import os
import posixpath
import stat
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Self

from proofsweep.config.locations import is_within, location_in, one_line, path_within, split_location
from proofsweep.config.threads import get_ident
from proofsweep.domain.errors import SHORTAGES, ResourceShortage, SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.files.folder_listing import (
    FOLDERS_KEPT,
    Cause,
    Folder,
    ListingRule,
    without_marked,
)
from proofsweep.files.open_file import OpenFile
from proofsweep.files.stand_ins import refuse_stand_in

NOTHING_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
# The disk or the file server does not give the file now: a bad sector, or a mount that is away.
_SERVER_AWAY = {errno.ENOTCONN, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ETIMEDOUT}
_CONNECTION_LOST = {errno.ECONNREFUSED, errno.ECONNRESET, errno.ECONNABORTED}
_AWAY = frozenset({errno.EIO, errno.ESTALE} | _SERVER_AWAY | _CONNECTION_LOST)
# Without O_NONBLOCK, opening a FIFO waits for its writer; O_NOCTTY keeps a terminal from becoming ours.
_OPENING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_UNAVAILABLE = Reason.SOURCE_UNAVAILABLE
# O_PATH needs no permission to read a folder on the way, as following a path needs none; only Linux has it.
_ON_THE_WAY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_IS_LINK = frozenset({errno.ELOOP, errno.ENOTDIR})
# Disks that wake up or try a bad sector again, and servers that restart, answer sooner.
HANGS_AFTER_SECONDS = 60.0
WHY_HANGS = f"it has not answered for {HANGS_AFTER_SECONDS:.0f} s"

_pending: dict[int, "Awaited"] = {}  # by thread


@dataclass(slots=True, eq=False)
class Awaited:
    """A read that is made inside; SourceError if it was given up before it had an answer."""

    location: str
    is_given_up: bool = False
    _outer: "Awaited | None" = None

    def __enter__(self) -> Self:
        thread = get_ident()
        self._outer = _pending.get(thread)
        _pending[thread] = self
        return self

    def give_up(self, thread: int) -> bool:
        """Let the read of a thread end as an error, whenever it ends; return whether it had no answer yet."""
        self.is_given_up = True
        return _pending.get(thread) is self

    def __exit__(self, *_: object) -> None:
        if self._outer is None:
            del _pending[get_ident()]
        else:
            _pending[get_ident()] = self._outer
        if self.is_given_up:
            raise SourceError(f"The file cannot be read: {WHY_HANGS}.", reason=Reason.SOURCE_UNAVAILABLE)


class ReadWatch:
    """Finds reads that hang, by looks at regular times: a process that was frozen meanwhile has looked once."""

    def __init__(self, seconds_between: float) -> None:
        self._seconds_between = seconds_between
        self._looks: dict[int, tuple[Awaited, int]] = {}

    def look(self) -> list[tuple[int, Awaited]]:
        """Return the reads that have just begun to hang, and their threads."""
        looks: dict[int, tuple[Awaited, int]] = {}
        hanging: list[tuple[int, Awaited]] = []
        most = HANGS_AFTER_SECONDS / self._seconds_between
        for thread, awaited in _pending.copy().items():
            before, count = self._looks.get(thread, (awaited, 0))
            if before is not awaited:
                count = 0
            looks[thread] = awaited, count + 1
            if count < most <= count + 1:
                hanging.append((thread, awaited))
        self._looks = looks
        return hanging


class LocalFiles:
    """The files at absolute paths of this machine, whatever stands at their names, for several threads.

    With a `root`, a folder without links in its path, it gives only what lies there, wherever links lead.
    """

    def __init__(self, root: str | None, rule: ListingRule) -> None:
        self._root = root
        self._rule = rule
        self._inside = lru_cache(FOLDERS_KEPT)(self._beginning_inside)

    def facts(self, location: str) -> FileFacts | None:
        try:
            with Awaited(location):
                return _facts_of(self._stat(location))
        except (OSError, ValueError) as error:
            _raise_unless_missing(error)
            refuse_stand_in(location)
            return None

    def open(self, location: str, *, is_whole: bool = False) -> "LocalFile | None":
        del is_whole  # reading costs the same either way
        root = self._root
        try:
            with Awaited(location):
                descriptor = os.open(location, _OPENING) if root is None else open_inside(location, root, _OPENING)
        except (OSError, ValueError) as error:
            _raise_unless_missing(error)
            refuse_stand_in(location)
            return None
        file = LocalFile(descriptor, location)
        # A pipe or a device opens, too, and would never end.
        try:
            file.facts()
        except SourceError:
            file.close()
            raise
        return file

    def walk(self, location: str) -> Iterator[Folder]:
        return _walked(location, self._root, self._rule)

    def in_folder(self, folder: str) -> Mapping[str, FileFacts | None]:
        try:
            path = folder
            with Awaited(posixpath.join(folder, "")):
                if self._root is not None:
                    path = path_inside(folder, self._root)
                return dict.fromkeys(os.listdir(path))  # noqa: PTH208 -- of text
        except (OSError, ValueError) as error:
            _raise_unless_missing(error, "folder")
            return {}

    def entries(self, folder: str) -> Mapping[str, FileFacts | None]:
        return self.in_folder(folder)

    def names_below(self, folder: str, is_followed: Callable[[str], bool]) -> Iterator[str]:
        waiting = [""]
        while waiting:
            followed = waiting.pop()
            for name, is_folder in _names_and_kinds(posixpath.join(folder, followed)):
                path = posixpath.join(followed, name)
                if is_folder and is_followed(name):
                    waiting.append(path)
                else:
                    yield f"{path}/" if is_folder else path

    def is_file(self, location: str) -> bool:
        with Awaited(location):
            return posixpath.lexists(location) and not posixpath.isdir(location)

    def is_folder(self, location: str) -> bool:
        try:
            with Awaited(posixpath.join(location, "")):
                if not posixpath.isdir(location):
                    return False
                os.scandir(location).close()
        except OSError as error:
            why = f"the folder cannot be read: {error.strerror}"
            raise SourceError(why, reason=Reason.UNREADABLE_FOLDER) from error
        return True

    def matches(self, pattern: str) -> tuple[str, list[tuple[str, bool]]] | None:
        if not glob.has_magic(pattern):
            return None
        # Brackets are common in names of folders, so the deepest folder that exists is taken literally.
        folder = posixpath.dirname(pattern)
        with Awaited(pattern):
            while not posixpath.isdir(folder):
                folder = posixpath.dirname(folder)
            names = glob.glob(path_within(pattern, folder), root_dir=folder, recursive=True)  # noqa: PTH207 -- of text
        matches = list[tuple[str, bool]]()
        # Python names a file once for each way in which `**/**` leads to it.
        for name in sorted({*names}, key=os.fsencode):
            location = posixpath.join(folder, name)
            matches.append((location, posixpath.isdir(location)))
        return folder, matches

    def _stat(self, location: str) -> os.stat_result:
        """Look at what a path leads to."""
        if self._root is None:
            return os.stat(location)  # noqa: PTH116 -- called a million times, and a Path costs more than the call
        # Folders on the way are resolved once, since a million files lie in few. Only a link, and a path that may lead
        # out of the root, is resolved by itself.
        folder, name = split_location(location)
        beginning = self._inside(folder)
        if beginning is not None and name not in {"", ".", ".."}:
            status = os.lstat(beginning + name)
            if not stat.S_ISLNK(status.st_mode):
                return status
        return os.stat(path_inside(location, self._root))  # noqa: PTH116 -- as above

    def _beginning_inside(self, folder: str) -> str | None:
        """Return what the paths without links of files in a folder begin with; None if it may lie outside the root."""
        real = os.path.realpath(folder)
        if self._root is not None and not is_within(real, self._root):
            return None
        return location_in(real, "")


class LocalFile(OpenFile):
    def __init__(self, descriptor: int, location: str = "") -> None:
        self._descriptor = descriptor
        self._location = location

    def facts(self) -> FileFacts:
        """Return size and version of the open file, even if its name now leads to another."""
        try:
            with Awaited(self._location):
                return _facts_of(os.fstat(self._descriptor))
        except OSError as error:
            raise _unreadable(error) from error

    def read_at(self, offset: int, most_bytes: int) -> bytes:
        try:
            with Awaited(self._location):
                return os.pread(self._descriptor, most_bytes, offset)
        except OSError as error:
            raise _unreadable(error) from error

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()


def _walked(top: str, root: str | None, rule: ListingRule) -> Iterator[Folder]:
    """Yield a folder and the folders in it, then those that links lead to; one that is not walked has no files."""
    # A folder that was walked already is not walked again, so folders that link to each other end. The real folders
    # come first, so that a file has the same name whether a link leads to its folder or not.
    walked: set[str] = set()  # without links in their paths
    links = deque([top])
    errors = list[OSError]()
    while links:
        start = links.popleft()
        with Awaited(posixpath.join(start, "")):
            real = os.path.realpath(start)
        if root is not None and not is_within(real, root):
            refused = Ineligible(Reason.OUTSIDE_CATALOG, outside_catalog(root).message)
            yield Folder(location=start, files=[], refused=refused)
            continue
        for path, folders, names in walk(start, errors.append):
            yield from map(_unreadable_folder, errors)
            errors.clear()
            real_path = real + path.removeprefix(start)
            if real_path in walked:
                folders.clear()
                yield Folder(location=path, files=[], is_repeated=True)
                continue
            walked.add(real_path)
            yield _listed(path, top, folders, names, rule)
            for name in folders:
                location = posixpath.join(path, name)
                if posixpath.islink(location):
                    links.append(location)
        yield from map(_unreadable_folder, errors)
        errors.clear()


def _listed(path: str, top: str, folders: list[str], names: list[str], rule: ListingRule) -> Folder:
    """Return a folder with what is listed in it; of `folders`, those stay that are walked next."""
    subfolders = {*folders}
    folders.clear()
    files = list[str]()
    left_out: defaultdict[Cause, list[str]] = defaultdict(list)
    for name in sorted([*subfolders, *names], key=os.fsencode):
        is_folder = name in subfolders
        cause = rule.why(path_within(posixpath.join(path, name), top), is_folder=is_folder)
        if cause is not None:
            left_out[cause].append(name)
        elif is_folder:
            folders.append(name)
        else:
            files.append(name)
    is_empty = not (subfolders or files or left_out)
    return Folder(location=path, files=without_marked(files, left_out), left_out=left_out, is_empty=is_empty)


def walk(top: str, onerror: Callable[[OSError], object] | None = None) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk as `os.walk` does, however deep."""
    # Before Python 3.12, `os.walk` calls itself for each level, and a hostile delivery has more than Python allows.
    waiting = [top]
    while waiting:
        here = waiting.pop()
        with Awaited(posixpath.join(here, "")):
            listed = list(islice(os.walk(here, onerror=onerror), 1))
        for path, folders, names in listed:
            yield path, folders, names
            for name in reversed(folders):
                folder = posixpath.join(path, name)
                if not posixpath.islink(folder):
                    waiting.append(folder)


def _unreadable_folder(error: OSError) -> Folder:
    refused = Ineligible(Reason.UNREADABLE_FOLDER, f"The folder cannot be read: {error.strerror}.")
    return Folder(location=str(error.filename), files=[], refused=refused)


def _names_and_kinds(folder: str) -> Iterable[tuple[str, bool]]:
    """Return the names in a folder, each with whether it is a folder, and no link to one."""
    try:
        with Awaited(posixpath.join(folder, "")), os.scandir(folder) as entries:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError:  # whoever reads the folder as one says more
        return [("", False)]


def _facts_of(status: os.stat_result) -> FileFacts:
    if not stat.S_ISREG(status.st_mode):
        raise SourceError("This is no regular file.", reason=Reason.UNREADABLE_FILE)
    return FileFacts(status.st_size, f"{status.st_size}-{status.st_mtime_ns}", status.st_mtime)


def _raise_unless_missing(error: OSError | ValueError, what: str = "file") -> None:
    if isinstance(error, OSError) and error.errno not in NOTHING_THERE:
        raise _unreadable(error, what) from error


def _unreadable(error: OSError, what: str = "file") -> SourceError:
    if error.errno in SHORTAGES:
        return ResourceShortage(f"This process cannot read more files now: {error.strerror}.", reason=_UNAVAILABLE)
    reason = _UNAVAILABLE if error.errno in _AWAY else Reason.UNREADABLE_FILE
    return SourceError(f"The {what} cannot be read: {error.strerror}.", reason=reason)


def path_inside(location: str, root: str) -> str:
    """Return the path without links that a location leads to, whether a file is there or not.

    Raises SourceError: `outside_catalog` if it does not lie in the folder `root`, whose own path holds no link.
    ValueError: no file can have such a name.
    """
    path = os.path.realpath(location)
    if not is_within(path, root):
        raise outside_catalog(root)
    return path


def open_inside(location: str, root: str, flags: int) -> int:
    """Open what a location leads to, and nothing that lies outside the folder `root`; return the descriptor.

    Raises SourceError: `outside_catalog`; or `source_changed` if the way changes meanwhile. OSError, ValueError: it
    cannot be opened.
    """
    path = path_inside(location, root)
    *folders, name = path.strip("/").split("/")
    # Each folder on the way is opened by itself and without following links. So a folder or file that somebody replaces
    # with a link in this very moment is not followed either.
    here = os.open("/", _ON_THE_WAY)
    try:
        for folder in folders:
            above, here = here, os.open(folder, _ON_THE_WAY, dir_fd=here)
            os.close(above)
        return os.open(name or ".", flags | os.O_NOFOLLOW, dir_fd=here)
    except OSError as error:
        if error.errno in _IS_LINK and path_inside(location, root) != path:
            raise SourceError("The path changed while it was opened.", reason=Reason.SOURCE_CHANGED) from error
        raise
    finally:
        os.close(here)


def outside_catalog(root: str) -> SourceError:
    """Return a sentence that something lies outside the catalog's root, and not where it leads."""
    folder = one_line(posixpath.join(root, ""))
    words = f"This leads outside the catalog's root {folder}: if it is meant, set catalog.root."
    return SourceError(words, reason=Reason.OUTSIDE_CATALOG)
