"""A location says by itself whether its file is on this machine or in a bucket."""

import os
import threading
from functools import partial
from pathlib import Path

import obstore
import pytest
from obstore.store import MemoryStore

from proofsweep.domain.errors import SourceError
from proofsweep.domain.reasons import Reason
from proofsweep.sources import bucket
from proofsweep.sources.bucket import BucketFiles
from proofsweep.sources.files import Files


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Files:
    """Files whose every bucket holds one object."""
    store = MemoryStore()
    obstore.put(store, "drop/a.wav", b"bucket")
    monkeypatch.setattr(bucket, "BucketFiles", partial(BucketFiles, lambda _root: store))
    return Files()


@pytest.fixture
def local(tmp_path: Path) -> str:
    """A folder with one file."""
    (tmp_path / "a.wav").write_bytes(b"local")
    return str(tmp_path)


def read(files: Files, location: str) -> bytes:
    """Read a small file."""
    file = files.open(location)
    assert file is not None
    with file:
        return file.read_at(0, 10)


def test_all_threads_share_the_opened_buckets(files: Files) -> None:
    """Sixteen first uses at once make one source."""
    start, found = threading.Barrier(16), list[BucketFiles]()

    def use() -> None:
        start.wait(30.0)
        found.append(files.buckets)

    threads = [threading.Thread(target=use) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)

    assert len(found) == 16
    assert len(set(map(id, found))) == 1


@pytest.mark.parametrize("root", ["local", "s3://bucket/drop"])
def test_a_root_keeps_out_the_other_kind_of_place(files: Files, local: str, root: str) -> None:
    """A manifest on this machine names no bucket, and one in a bucket names no file of this machine."""
    inside = files.within(os.path.realpath(local) if root == "local" else root)
    here, there = f"{local}/a.wav", "s3://bucket/drop/a.wav"
    mine, other = (here, there) if root == "local" else (there, here)

    assert read(inside, mine)
    for look in (inside.facts, inside.open, lambda each: list(inside.walk(each))):
        with pytest.raises(SourceError) as refused:
            look(other)
        assert refused.value.reason == Reason.OUTSIDE_CATALOG
    assert read(inside.within(None), other)
    with pytest.raises(SourceError):
        inside.facts("s3://bucket/drop2/a.wav")  # the rest of the bucket is outside
