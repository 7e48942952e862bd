"""A results store in a bucket that is only looked at; apart, since only this loads the library for buckets."""

from proofsweep.store.bucket_store import BucketStore
from proofsweep.store.store import NoWrites


class ReadOnlyBucket(NoWrites, BucketStore):
    """A bucket; its parts can only be read, too."""

    def within(self, folder: str) -> "ReadOnlyBucket":
        """Open a longer prefix."""
        return ReadOnlyBucket(f"{self.url}/{folder}", self._open_root)
