"""A results store that is only looked at: whatever would write to it fails, so a view of it can change nothing."""

from pathlib import Path

from proofsweep.store.folder_store import FolderStore
from proofsweep.store.store import NoWrites, Store, is_in_bucket


def read_only(store: Store) -> Store:
    """Open the same store for reading alone; ResultsError for each write. Readers keep nothing for the next reader."""
    if is_in_bucket(store):
        from proofsweep.store.read_only_bucket import ReadOnlyBucket  # noqa: PLC0415 - only for buckets

        return ReadOnlyBucket(store.url)
    return ReadOnlyFolder(Path(store.url))


class ReadOnlyFolder(NoWrites, FolderStore):
    """A folder; its parts can only be read, too."""

    def within(self, folder: str) -> "ReadOnlyFolder":
        """Open a sub-folder."""
        return ReadOnlyFolder(Path(self.url) / folder)
