"""Read all files that a catalog may name, on this machine and in buckets."""

import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from proofsweep.config.locations import is_bucket, is_within
from proofsweep.domain.items import FileFacts
from proofsweep.sources.local import LocalFiles, outside_catalog
from proofsweep.sources.names import USUAL_RULE, ListingRule
from proofsweep.sources.source import Folder, OpenFile, Source

if TYPE_CHECKING:
    from proofsweep.sources.bucket import BucketFiles


class Files:
    """A source of absolute paths and bucket URLs; the first bucket URL loads the library for buckets.

    With a `root`, a folder without links in its path or a bucket's prefix, it gives only what lies there: anything else
    raises SourceError with the reason `outside_catalog`. The `rule` says what a walk leaves out.
    """

    def __init__(self, root: str | None = None, rule: ListingRule = USUAL_RULE) -> None:
        self._root = root
        self.rule = rule
        self._local = LocalFiles(None if root is None or is_bucket(root) else root, rule)
        self._buckets: BucketFiles | None = None
        self._lock = threading.Lock()

    def within(self, root: str | None) -> "Files":
        """Return the same files with another root, or with none; opened buckets are shared."""
        files = Files(root, self.rule)
        files._buckets = self._buckets
        return files

    def facts(self, location: str) -> FileFacts | None:
        return self._source_of(location).facts(location)

    def open(self, location: str, *, is_whole: bool = False) -> OpenFile | None:
        return self._source_of(location).open(location, is_whole=is_whole)

    def walk(self, location: str) -> Iterator[Folder]:
        return self._source_of(location).walk(location)

    def names(self, folder: str) -> list[str]:
        return self._local.names(folder)

    def in_folder(self, folder: str) -> Mapping[str, FileFacts | None]:
        """Return the names in a folder or prefix, with the facts of files if the listing has them."""
        return self.buckets.in_folder(folder) if is_bucket(folder) else dict.fromkeys(self.names(folder))

    def refuse_outside(self, location: str) -> None:
        """Raise SourceError if a bucket URL lies outside the root; links are seen only when they are used."""
        root = self._root
        if root is not None and (is_bucket(location) or is_bucket(root)) and not is_within(location, root):
            raise outside_catalog(root)

    @property
    def buckets(self) -> "BucketFiles":
        from proofsweep.sources.bucket import BucketFiles  # noqa: PLC0415 - only for buckets, which few have

        with self._lock:
            if self._buckets is None:
                self._buckets = BucketFiles(rule=self.rule)
            return self._buckets

    def _source_of(self, location: str) -> Source:
        self.refuse_outside(location)
        return self.buckets if is_bucket(location) else self._local
