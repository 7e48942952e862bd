"""Read all files that a catalog may name, on this machine, whatever stands at their names, and in buckets."""

import errno
import os
import posixpath
import stat
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from proofsweep.config.locations import is_bucket, is_within, one_line, path_within, root_and_key
from proofsweep.config.threads import Lock
from proofsweep.domain.errors import SHORTAGES, ResourceShortage, SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.files.folder_listing import (
    FOLDERS_KEPT,
    USUAL_RULE,
    Cause,
    Folder,
    ListingRule,
    without_marked,
)
from proofsweep.files.open_file import OpenFile
from proofsweep.files.stand_ins import refuse_stand_in

if TYPE_CHECKING:
    from proofsweep.files.bucket_files import BucketFiles

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


class Files:
    """The files at absolute paths and bucket URLs, for several threads; the first bucket URL loads its library.

    With a `root`, a folder without links in its path or a bucket's prefix, it gives only what lies there: anything else
    raises SourceError with the reason `outside_catalog`. The `rule` says what a walk leaves out. A location without a
    file gives None, even if no file can have such a name. One of something else raises SourceError with the reason
    `unreadable_file`; one of this machine for which a placeholder of a cloud or a link of git-annex stands, `stand_in`.
    """

    def __init__(
        self, root: str | None = None, rule: ListingRule = USUAL_RULE, buckets: "BucketFiles | None" = None
    ) -> None:
        self._root = root
        self._local_root = None if root is None or is_bucket(root) else root
        self.rule = rule
        self._buckets = buckets
        self._lock = Lock()
        self._real_folder = lru_cache(FOLDERS_KEPT)(os.path.realpath)

    def within(self, root: str | None) -> "Files":
        """Return the same files with another root, or with none; opened buckets are shared."""
        return Files(root, self.rule, self._buckets)

    @property
    def buckets(self) -> "BucketFiles":
        from proofsweep.files.bucket_files import BucketFiles  # noqa: PLC0415 - only for buckets, which few have

        with self._lock:
            if self._buckets is None:
                self._buckets = BucketFiles(rule=self.rule)
            return self._buckets

    def facts(self, location: str) -> FileFacts | None:
        self.refuse_outside(location)
        if is_bucket(location):
            return self.buckets.facts(location)
        try:
            return _facts_of(self._stat(location))
        except (OSError, ValueError) as error:
            _raise_unless_missing(error)
            refuse_stand_in(location)
            return None

    def open(self, location: str, *, is_whole: bool = False) -> OpenFile | None:
        """Open a file for reading, `is_whole` if all of it will be read; never waits for a writer."""
        self.refuse_outside(location)
        if is_bucket(location):
            return self.buckets.open(location, is_whole=is_whole)
        root = self._local_root
        try:
            descriptor = os.open(location, _OPENING) if root is None else open_inside(location, root, _OPENING)
        except (OSError, ValueError) as error:
            _raise_unless_missing(error)
            refuse_stand_in(location)
            return None
        file = LocalFile(descriptor)
        # A pipe or a device opens, too, and would never end.
        try:
            file.facts()
        except SourceError:
            file.close()
            raise
        return file

    def walk(self, location: str) -> Iterator[Folder]:
        """Return a folder and all below it, each before its own subfolders; a folder's names sorted by raw bytes.

        Links to other folders of this machine come last, and each folder once.
        """
        self.refuse_outside(location)
        if is_bucket(location):
            return self.buckets.walk(location)
        return _walked(location, self._local_root, self.rule)

    def in_folder(self, folder: str) -> Mapping[str, FileFacts | None]:
        """Return the names in a folder or prefix, with the facts that its listing has; SourceError if that fails."""
        self.refuse_outside(folder)
        if is_bucket(folder):
            return self.buckets.in_folder(folder, bad=set())
        try:
            path = folder
            if self._local_root is not None:
                path = path_inside(folder, self._local_root)
            return dict.fromkeys(os.listdir(path))  # noqa: PTH208 -- of text
        except (OSError, ValueError) as error:
            _raise_unless_missing(error, "folder")
            return {}

    def entries(self, folder: str) -> Mapping[str, FileFacts | None]:
        """Return the names of files and folders in a folder or prefix; SourceError if it cannot be listed."""
        if not is_bucket(folder):
            return self.in_folder(folder)
        self.refuse_outside(folder)
        return self.buckets.entries(folder)

    def refuse_outside(self, location: str) -> None:
        """Raise SourceError if a bucket URL lies outside the root; links are seen only when they are used."""
        root = self._root
        if root is None or is_within(location, root):
            return
        if is_bucket(location) or is_bucket(root):
            raise outside_catalog(root)

    def _stat(self, location: str) -> os.stat_result:
        """Look at what a path leads to."""
        if self._local_root is None:
            return os.stat(location)  # noqa: PTH116 -- called a million times, and a Path costs more than the call
        # Folders on the way are resolved once, since a million files lie in few. Only a link, and a path that may lead
        # out of the root, is resolved by itself.
        folder, name = posixpath.split(location)
        path = posixpath.join(self._real_folder(folder), name)
        if name not in {"", ".", ".."} and is_within(path, self._local_root):
            status = os.lstat(path)
            if not stat.S_ISLNK(status.st_mode):
                return status
        return os.stat(path_inside(location, self._local_root))  # noqa: PTH116 -- as above


class LocalFile(OpenFile):
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def facts(self) -> FileFacts:
        """Return size and version of the open file, even if its name now leads to another."""
        try:
            return _facts_of(os.fstat(self._descriptor))
        except OSError as error:
            raise _unreadable(error) from error

    def read_at(self, offset: int, most_bytes: int) -> bytes:
        try:
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
        for path, folders, names in islice(os.walk(waiting.pop(), onerror=onerror), 1):
            yield path, folders, names
            for name in reversed(folders):
                folder = posixpath.join(path, name)
                if not posixpath.islink(folder):
                    waiting.append(folder)


def _unreadable_folder(error: OSError) -> Folder:
    refused = Ineligible(Reason.UNREADABLE_FOLDER, f"The folder cannot be read: {error.strerror}.")
    return Folder(location=str(error.filename), files=[], refused=refused)


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


def refuse_unavailable(error: SourceError, location: str) -> None:
    """Raise the error again, with the file's location, if it says nothing about the file."""
    if error.reason == _UNAVAILABLE:
        raise type(error)(f"{one_line(location)}: {error.message}", reason=error.reason) from error


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


def below(folder: str, path: str) -> str:
    """Return the location of a path as seen from a folder or prefix; `..` is resolved in the text, up to its root."""
    bucket, above = "", folder
    if is_bucket(folder):
        bucket, above = root_and_key(folder)
    location = posixpath.join("/", above, path)
    return bucket + posixpath.normpath(location)


def outside_catalog(root: str) -> SourceError:
    """Return a sentence that something lies outside the catalog's root, and not where it leads."""
    folder = one_line(posixpath.join(root, ""))
    words = f"This leads outside the catalog's root {folder}: if it is meant, set catalog.root."
    return SourceError(words, reason=Reason.OUTSIDE_CATALOG)
