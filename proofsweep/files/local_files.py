"""Read files of this machine; odd names, links that lead away and devices are handled."""

import errno
import os
import posixpath
import stat
from collections.abc import Iterator
from functools import lru_cache

from proofsweep.errors import ResourceShortage, SourceError
from proofsweep.files.containment import open_inside, path_inside
from proofsweep.files.local_folders import LocalFolders
from proofsweep.files.locations import is_within
from proofsweep.files.source import Folder, OpenFile
from proofsweep.model.items import FileFacts
from proofsweep.model.reasons import Reason

_NOTHING_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
# The disk or the file server does not give the file now: a bad sector, or a mount that is away.
_AWAY = frozenset(
    {
        *(errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ETIMEDOUT),
        *(errno.ECONNREFUSED, errno.ECONNRESET, errno.ECONNABORTED),
    }
)
# Without O_NONBLOCK, opening a FIFO waits for its writer; O_NOCTTY keeps a terminal from becoming ours.
_OPENING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_UNAVAILABLE = Reason.SOURCE_UNAVAILABLE
# chosen: folders whose path without links is remembered; at half, rows that jump between folders are resolved more
# often, and twice only takes more memory.
_FOLDERS_KEPT = 1_024


class LocalFile(OpenFile):
    """An open regular file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def facts(self) -> FileFacts:
        """Return size and version of the open file, even if its name now leads to another."""
        try:
            return _facts_of(os.fstat(self._descriptor))
        except OSError as error:
            raise _unreadable(error) from error

    def read_at(self, offset: int, most_bytes: int) -> bytes:
        """Return the bytes at an offset; fewer at the end of the file."""
        try:
            return os.pread(self._descriptor, most_bytes, offset)
        except OSError as error:
            raise _unreadable(error) from error

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


class LocalFiles:
    """A source of plain paths.

    With a `root`, a folder without links in its own path, it gives only what lies in it: anything else raises
    SourceError with the reason `outside_catalog`.
    """

    def __init__(self, root: str | None = None) -> None:
        self._root = root
        self._real_folder = lru_cache(_FOLDERS_KEPT)(os.path.realpath)

    def facts(self, location: str) -> FileFacts | None:
        """Return size and version of the file that a path or link leads to."""
        try:
            return _facts_of(self._stat(location))
        except (OSError, ValueError) as error:
            _raise_unless_missing(error)
            return None

    def open(self, location: str, *, is_whole: bool = False) -> LocalFile | None:  # noqa: ARG002 - makes no difference
        """Open a regular file; raise SourceError for anything else."""
        try:
            if self._root is None:
                descriptor = os.open(location, _OPENING)
            else:
                descriptor = open_inside(location, self._root, _OPENING)
        except (OSError, ValueError) as error:
            _raise_unless_missing(error)
            return None
        file = LocalFile(descriptor)
        try:
            file.facts()
        except SourceError:
            file.close()
            raise
        return file

    def walk(self, location: str) -> Iterator[Folder]:
        """Return a folder and those below it; links to other folders come last, and each folder once."""
        return LocalFolders(self._root).walk(location)

    def _stat(self, location: str) -> os.stat_result:
        """Look at what a path leads to. Folders on the way are resolved once, since a million files lie in few."""
        if self._root is None:
            return os.stat(location)  # noqa: PTH116 -- called a million times, and a Path costs more than the call
        folder, name = posixpath.split(location)
        path = posixpath.join(self._real_folder(folder), name)
        status = os.lstat(path) if name not in {"", ".", ".."} and is_within(path, self._root) else None
        if status is None or stat.S_ISLNK(status.st_mode):
            return os.stat(path_inside(location, self._root))  # noqa: PTH116 -- as above
        return status


def _facts_of(status: os.stat_result) -> FileFacts:
    if not stat.S_ISREG(status.st_mode):
        raise SourceError("This is no regular file.", reason=Reason.UNREADABLE_FILE)
    return FileFacts(status.st_size, f"{status.st_size}-{status.st_mtime_ns}", status.st_mtime)


def _raise_unless_missing(error: OSError | ValueError) -> None:
    """Raise SourceError unless there is no such file, or no file can have such a name."""
    if isinstance(error, OSError) and error.errno not in _NOTHING_THERE:
        raise _unreadable(error) from error


def _unreadable(error: OSError) -> SourceError:
    if error.errno in _SHORTAGES:
        return ResourceShortage(f"This process cannot read more files now: {error.strerror}.", reason=_UNAVAILABLE)
    reason = _UNAVAILABLE if error.errno in _AWAY else Reason.UNREADABLE_FILE
    return SourceError(f"The file cannot be read: {error.strerror}.", reason=reason)
