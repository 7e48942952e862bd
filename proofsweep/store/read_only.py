"""A results store that is only looked at: whatever would write to it fails, so a view of it can change nothing."""

from pathlib import Path
from typing import NoReturn

from proofsweep.errors import ResultsError
from proofsweep.store.bucket_store import BucketStore
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.store import Store


def read_only(store: Store) -> Store:
    """Open the same store for reading alone; ResultsError for each write. Readers keep nothing for the next reader."""
    if isinstance(store, BucketStore):
        return ReadOnlyBucket(store.url)
    return ReadOnlyFolder(Path(store.url))


class _NoWrites:
    """Refuses each write, before anything is asked of a disk or a bucket."""

    url: str

    def create(self, name: str, content: bytes) -> NoReturn:  # noqa: ARG002 - the port's signature
        """Refuse."""
        raise ResultsError(f"The results store {self.url} is open for reading alone.")

    replace = create

    def delete(self, name: str) -> NoReturn:
        """Refuse."""
        self.create(name, b"")


class ReadOnlyFolder(_NoWrites, FolderStore):
    """A folder; its parts can only be read, too."""

    def within(self, folder: str) -> "ReadOnlyFolder":
        """Open a sub-folder."""
        return ReadOnlyFolder(Path(self.url) / folder)


class ReadOnlyBucket(_NoWrites, BucketStore):
    """A bucket; its parts can only be read, too."""

    def within(self, folder: str) -> "ReadOnlyBucket":
        """Open a longer prefix."""
        return ReadOnlyBucket(f"{self.url}/{folder}", self._open_root)
