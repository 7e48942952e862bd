"""Read all files that a catalog may name, on this machine and in buckets."""

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from proofsweep.domain.items import FileFacts
from proofsweep.storage.files.local_files import LocalFiles
from proofsweep.storage.files.source import Folder, OpenFile, Source
from proofsweep.storage.locations import is_bucket

if TYPE_CHECKING:
    from proofsweep.storage.files.bucket_files import BucketFiles


class Files:
    """A source of absolute paths and bucket URLs; the first bucket URL loads the library for buckets."""

    def __init__(self) -> None:
        self._local = LocalFiles()
        self._buckets: BucketFiles | None = None
        self._lock = threading.Lock()

    def facts(self, location: str) -> FileFacts | None:
        """Give what is known of a file without opening it; for an object this is a request."""
        return self._source_of(location).facts(location)

    def open(self, location: str) -> OpenFile | None:
        """Open a file for reading."""
        return self._source_of(location).open(location)

    def walk(self, location: str) -> Iterator[Folder]:
        """Give a folder or prefix and all below it."""
        return self._source_of(location).walk(location)

    @property
    def buckets(self) -> "BucketFiles":
        """The source of bucket URLs alone."""
        from proofsweep.storage.files.bucket_files import BucketFiles  # noqa: PLC0415 - only for buckets

        with self._lock:
            if self._buckets is None:
                self._buckets = BucketFiles()
            return self._buckets

    def _source_of(self, location: str) -> Source:
        return self.buckets if is_bucket(location) else self._local
