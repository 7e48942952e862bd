"""Read files of this machine; odd names, links in a circle and devices are handled."""

import errno
import os
import posixpath
import stat
from collections.abc import Iterator

from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.errors import SourceError
from proofsweep.storage.files.source import Folder, OpenFile

_NOTHING_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
# Without O_NONBLOCK, opening a FIFO waits for its writer; O_NOCTTY keeps a terminal from becoming ours.
_OPENING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_Identity = tuple[int, int]


class LocalFile(OpenFile):
    """An open regular file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def facts(self) -> FileFacts:
        """Give size and version of the open file, even if its name now leads to another."""
        return _facts_of(os.fstat(self._descriptor))

    def read_at(self, offset: int, most_bytes: int) -> bytes:
        """Give the bytes at an offset; fewer at the end of the file."""
        try:
            return os.pread(self._descriptor, most_bytes, offset)
        except OSError as error:
            raise _unreadable(error) from error

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


class LocalFiles:
    """A source of plain paths."""

    def facts(self, location: str) -> FileFacts | None:
        """Give size and version of the file that a path or link leads to."""
        try:
            return _facts_of(os.stat(location))  # noqa: PTH116 -- called a million times, and a Path costs more than the call
        except (OSError, ValueError) as error:
            _raise_unless_missing(error)
            return None

    def open(self, location: str) -> LocalFile | None:
        """Open a regular file; raise SourceError for anything else."""
        try:
            descriptor = os.open(location, _OPENING)
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
        """Give a folder and those below it; follow links unless they lead back to a folder above."""
        waiting: list[tuple[str, frozenset[_Identity]]] = [(location, frozenset())]
        while waiting:
            path, above = waiting.pop()
            try:
                here = above | {_identity_of(path, above)}
                folder, below = _look_into(path)
            except OSError:
                yield Folder(location=path, files=[], unreadable=["."])
                continue
            yield folder
            waiting += [(posixpath.join(path, name), here) for name in reversed(below)]


def _identity_of(path: str, above: frozenset[_Identity]) -> _Identity:
    status = os.stat(path)  # noqa: PTH116 -- as above
    identity = (status.st_dev, status.st_ino)
    if identity in above:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    return identity


def _look_into(path: str) -> tuple[Folder, list[str]]:
    files: list[str] = []
    folders: list[str] = []
    hidden: list[str] = []
    others: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                hidden.append(entry.name)
            elif _is_folder(entry):
                folders.append(entry.name)
            else:
                (files if _is_file(entry) else others).append(entry.name)
    for names in (files, folders, hidden, others):
        names.sort(key=os.fsencode)
    return Folder(location=path, files=files, hidden=hidden, unreadable=others), folders


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


def _facts_of(status: os.stat_result) -> FileFacts:
    if not stat.S_ISREG(status.st_mode):
        raise SourceError("This is no regular file.", reason=Reason.UNREADABLE_FILE)
    return FileFacts(status.st_size, f"{status.st_size}-{status.st_mtime_ns}")


def _raise_unless_missing(error: OSError | ValueError) -> None:
    """Raise SourceError unless there is no such file, or no file can have such a name."""
    if isinstance(error, OSError) and error.errno not in _NOTHING_THERE:
        raise _unreadable(error) from error


def _unreadable(error: OSError) -> SourceError:
    return SourceError(f"The file cannot be read: {error.strerror}.", reason=Reason.UNREADABLE_FILE)
