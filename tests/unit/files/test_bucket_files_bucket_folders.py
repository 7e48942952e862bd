"""The objects below a prefix become folders, in whatever order they are listed."""

import random

import pytest

from proofsweep.files import bucket_files
from proofsweep.files.bucket_files import folders_below
from proofsweep.files.source import Folder
from proofsweep.model.items import FileFacts

FACTS = FileFacts(1, "v")


def folders_of(*keys: str) -> list[Folder]:
    """Sort keys below `drop` into folders."""
    return list(folders_below("s3://bucket/drop/", ((f"drop/{key}", FACTS) for key in keys)))


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_listing_does_not_matter(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """A folder comes right before its subfolders, although `-` sorts before the slash; nor does the batch matter."""
    monkeypatch.setattr(bucket_files, "_BATCH_ROWS", 2)
    keys = ["a/1", "a-b/1", "a/b/1", "z", "a/b/c/1", "y"]
    random.Random(seed).shuffle(keys)  # noqa: S311 - any order will do

    found = [(folder.location.removeprefix("s3://bucket/"), folder.files) for folder in folders_of(*keys)]

    assert found == [
        ("drop", ["y", "z"]),
        ("drop/a", ["1"]),
        ("drop/a/b", ["1"]),
        ("drop/a/b/c", ["1"]),
        ("drop/a-b", ["1"]),
    ]


def test_an_empty_object_named_as_a_folder_is_no_file() -> None:
    """Some tools leave one for each folder; one that holds bytes is a file beside the folder."""
    sizes = {"a": 0, "a/1": 1, "b": 1, "b/1": 1}

    (top, *_) = folders_below("s3://bucket", ((key, FileFacts(size, "v")) for key, size in sizes.items()))

    assert top.files == ["b"]
