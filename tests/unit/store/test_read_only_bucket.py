"""A results store in a bucket that is only looked at."""

import pytest

from proofsweep.errors import ResultsError
from proofsweep.store.bucket_store import BucketStore
from proofsweep.store.read_only import read_only

from .test_read_only import WRITES


@pytest.mark.parametrize("write", WRITES)
def test_a_bucket_is_asked_for_no_write(write: str) -> None:
    """The refusal needs no request: the bucket does not exist."""
    with pytest.raises(ResultsError, match="reading alone"):
        WRITES[write](read_only(BucketStore("s3://nowhere/results")))
