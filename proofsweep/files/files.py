"""All files that a catalog may name, of any kind, at one door; and what is true of a kind before a file is opened."""

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from proofsweep.config.locations import is_bucket, is_within, one_line, root_and_key
from proofsweep.config.threads import Lock
from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.files.folder_listing import USUAL_RULE, Folder, ListingRule
from proofsweep.files.local_files import LocalFiles, outside_catalog
from proofsweep.files.open_file import OpenFile

if TYPE_CHECKING:
    from proofsweep.files.bucket_files import BucketFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """What is true of all files of one kind."""

    is_on_this_machine: bool  # on a disk or share, which other machines may lack, and which may be unmounted
    has_folders: bool  # that `os` knows, with `..` and links; else a prefix is there only while something lies below it
    has_version_of_content: bool  # copies have one version, as ETags are; else the version tells of the file's time
    is_cheap_to_read: bool  # so that a file may be read through before it is sent
    is_found_by_listing: bool  # since each look at a file is a request
    looks_at_once: int  # how many files, and folders of them, are looked into side by side


LOCAL: Final = FileKind(
    is_on_this_machine=True,
    has_folders=True,
    has_version_of_content=False,
    is_cheap_to_read=True,
    is_found_by_listing=False,
    looks_at_once=1,
)
BUCKET: Final = FileKind(
    is_on_this_machine=False,
    has_folders=False,
    has_version_of_content=True,
    is_cheap_to_read=False,
    is_found_by_listing=True,
    looks_at_once=8,  # each waits for its bucket
)


def kind_of(location: str) -> FileKind:
    return BUCKET if is_bucket(location) else LOCAL


class FileAccess(Protocol):
    """How the files of one kind are read and listed; `Files` says what each call does."""

    def facts(self, location: str) -> FileFacts | None: ...
    def open(self, location: str, *, is_whole: bool = False) -> OpenFile | None: ...
    def walk(self, location: str) -> Iterator[Folder]: ...
    def in_folder(self, folder: str) -> Mapping[str, FileFacts | None]: ...
    def entries(self, folder: str) -> Mapping[str, FileFacts | None]: ...
    def names_below(self, folder: str, is_followed: Callable[[str], bool]) -> Iterator[str]: ...
    def is_file(self, location: str) -> bool: ...
    def is_folder(self, location: str) -> bool: ...
    def matches(self, pattern: str) -> tuple[str, list[tuple[str, bool]]] | None: ...


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
        self.rule = rule
        self._is_rooted_here = root is not None and kind_of(root) is LOCAL
        self._local = LocalFiles(root if self._is_rooted_here else None, rule)
        self._buckets = buckets
        self._lock = Lock()

    def within(self, root: str | None) -> "Files":
        """Return the same files with another root, or with none; opened buckets are shared."""
        return Files(root, self.rule, self._buckets)

    @property
    def buckets(self) -> "BucketFiles":
        from proofsweep.config.buckets import open_bucket  # noqa: PLC0415 - only for buckets, which few have
        from proofsweep.files.bucket_files import BucketFiles  # noqa: PLC0415

        with self._lock:
            if self._buckets is None:
                open_to_create = partial(open_bucket, creates_large=True)
                self._buckets = BucketFiles(rule=self.rule, open_to_create=open_to_create)
            return self._buckets

    def facts(self, location: str) -> FileFacts | None:
        return self._at(location).facts(location)

    def open(self, location: str, *, is_whole: bool = False) -> OpenFile | None:
        """Open a file for reading, `is_whole` if all of it will be read; never waits for a writer."""
        return self._at(location).open(location, is_whole=is_whole)

    def walk(self, location: str) -> Iterator[Folder]:
        """Return a folder and all below it, each before its own subfolders; a folder's names sorted by raw bytes.

        Links to other folders of this machine come last, and each folder once.
        """
        return self._at(location).walk(location)

    def in_folder(self, folder: str) -> Mapping[str, FileFacts | None]:
        """Return the names in a folder or prefix, with the facts that its listing has; SourceError if that fails."""
        return self._at(folder).in_folder(folder)

    def entries(self, folder: str) -> Mapping[str, FileFacts | None]:
        """Return the names of files and folders in a folder or prefix; SourceError if it cannot be listed."""
        return self._at(folder).entries(folder)

    def names_below(self, folder: str, is_followed: Callable[[str], bool]) -> Iterator[str]:
        """Yield the paths of files as seen from a folder or prefix, in any order.

        A folder whose name is not followed is named itself, with a slash at its end; a prefix gives its files.
        """
        return self._at(folder).names_below(folder, is_followed)

    def is_file(self, location: str) -> bool:
        """Whether something lies there that is no folder, such as a link that leads nowhere; SourceError as `open`."""
        return self._at(location).is_file(location)

    def is_folder(self, location: str) -> bool:
        """Whether a folder is there, or objects below a prefix; SourceError if it cannot be listed."""
        return self._at(location).is_folder(location)

    def matches(self, pattern: str) -> tuple[str, list[tuple[str, bool]]] | None:
        """Return the folder of a pattern, and what in it matches, sorted, each with whether it is a folder.

        None if the location is no pattern.
        """
        return self._at(pattern).matches(pattern)

    def refuse_outside(self, location: str) -> None:
        """Raise SourceError if a bucket URL lies outside the root; links are seen only when they are used."""
        self._at(location)

    def _at(self, location: str) -> FileAccess:
        is_local, root = kind_of(location) is LOCAL, self._root
        # A path of this machine may lead into the root by a link, which is seen only when it is used.
        if is_local and self._is_rooted_here:
            return self._local
        if root is not None and not is_within(location, root):
            raise outside_catalog(root)
        return self._local if is_local else self.buckets


def real_location(location: str) -> str:
    """Return a location without links."""
    return os.path.realpath(location) if kind_of(location).has_folders else location


def below(folder: str, path: str) -> str:
    """Return the location of a path as seen from a folder or prefix; `..` is resolved in the text, up to its root."""
    bucket, above = "", folder
    if not kind_of(folder).is_on_this_machine:
        bucket, above = root_and_key(folder)
    location = posixpath.join("/", above, path)
    return bucket + posixpath.normpath(location)


def refuse_unavailable(error: SourceError, location: str) -> None:
    """Raise the error again, with the file's location, if it says nothing about the file."""
    if error.reason == Reason.SOURCE_UNAVAILABLE:
        raise type(error)(f"{one_line(location)}: {error.message}", reason=error.reason) from error
