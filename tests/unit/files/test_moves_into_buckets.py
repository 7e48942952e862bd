"""A file is moved to a bucket in which this program may read and write objects, and list nothing."""

import hashlib
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from proofsweep.domain.errors import NameTaken, SourceError
from proofsweep.domain.reasons import Reason
from proofsweep.files.bucket_files import BucketFile, BucketFiles
from proofsweep.files.files import Files
from proofsweep.files.moving import Moves


class WithoutListing(BucketFiles):
    """A bucket that answers as S3 does without the right to list: a key that is not there is forbidden."""

    def open(self, location: str, *, is_whole: bool = False) -> BucketFile | None:
        found = super().open(location, is_whole=is_whole)
        if found is None:
            raise SourceError("The bucket refuses it.", reason=Reason.SOURCE_FORBIDDEN)
        return found


def test_a_name_that_may_not_be_looked_at_is_taken_for_free(tmp_path: Path) -> None:
    """To create it is refused if it is not, so nothing is overwritten."""
    store = MemoryStore()
    moves = Moves(Files(buckets=WithoutListing(lambda _root: store)))
    (tmp_path / "a.wav").write_bytes(b"audio")
    digest = hashlib.sha256(b"audio").hexdigest()

    moves.copy(str(tmp_path / "a.wav"), "s3://bucket/ok/a.wav", digest)

    assert moves.digest("s3://bucket/ok/a.wav") == digest
    assert moves.held("s3://bucket/ok/b.wav") is None
    (tmp_path / "a.wav").write_bytes(b"other")
    with pytest.raises(NameTaken):
        moves.copy(str(tmp_path / "a.wav"), "s3://bucket/ok/a.wav", hashlib.sha256(b"other").hexdigest())
