"""A pair in a bucket is moved whole or not at all, wherever a pass is killed."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import obstore
import pytest

from ..servers.buckets import Bucket
from ..worlds.core import MOVING_IN_BUCKETS, results_at
from ..worlds.killed_passes import (
    KilledMove,
    Site,
    check_every_line,
    deliver_anew,
    nothing,
    take_back,
    take_name,
)


@dataclass(frozen=True)
class BucketSite:
    bucket: Bucket
    prefix: str

    @property
    def root(self) -> str:
        return f"{self.bucket.url}/{self.prefix}"

    def put(self, name: str, content: bytes) -> None:
        self.bucket.put(f"{self.prefix}/{name}", content)

    def delete(self, name: str) -> None:
        """Delete an object, if it is there."""
        if name in self.below(""):
            obstore.delete(self.bucket.store, f"{self.prefix}/{name}")

    def below(self, folder: str) -> dict[str, bytes]:
        """Return all objects below a prefix, by their names in it."""
        top = f"{self.prefix}/{folder}".rstrip("/")
        return {key.removeprefix(f"{top}/"): self.bucket.content(key) for key in self.bucket.keys(top)}


@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the killed one leaves its files open
@pytest.mark.parametrize("meanwhile", [nothing, deliver_anew, take_back, take_name])
def test_a_pair_is_moved_whole_or_not_at_all(
    s3_bucket: Bucket, tmp_path: Path, meanwhile: Callable[[Site], None]
) -> None:
    """Also if its objects, or its names at the target, are others by then."""

    def make(line: int) -> KilledMove:
        return KilledMove(BucketSite(s3_bucket, f"line-{line}"), results_at(tmp_path / str(line)), *MOVING_IN_BUCKETS)

    assert check_every_line(make, meanwhile) > 20
