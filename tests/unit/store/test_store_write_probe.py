"""Whether a store will do is found out without leaving anything behind."""

from pathlib import Path

import pytest
from obstore.store import MemoryStore

from proofsweep.errors import ResultsError
from proofsweep.store.bucket_store import BucketStore
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.store import probe


class OverwritingStore(BucketStore):
    """A bucket that knows no conditions, as at some gateways."""

    def create(self, name: str, content: bytes) -> None:
        """Write, whatever is there."""
        self.delete(name)
        super().create(name, content)


def test_a_store_that_will_do_is_left_as_it_was(tmp_path: Path) -> None:
    """Nothing stays, and a folder that is not there is not made."""
    probe(FolderStore(tmp_path / "deep" / "results"))

    assert list(tmp_path.iterdir()) == []


def test_a_store_that_writes_over_objects_is_refused() -> None:
    """Two processes might each believe that a row is theirs to finish."""
    bucket = MemoryStore()

    with pytest.raises(ResultsError, match="s3://bucket overwrites"):
        probe(OverwritingStore("s3://bucket", lambda _root: bucket))

    assert bucket.list().collect() == []
