"""A pattern finds the objects of a bucket that it would find as files of a folder."""

import glob
from pathlib import Path

import obstore
import pytest
from obstore.store import MemoryStore

from proofsweep.catalog.open_catalog import matches_of
from proofsweep.files.bucket_files import BucketFiles

KEYS = ("a.csv", "b.csv", "B.csv", "c.txt", ".hidden.csv", "x/a.csv", "x/y/a.csv", "x/y/z/d.csv", "x/.trash/e.csv")


@pytest.fixture
def files() -> BucketFiles:
    """A bucket that holds the keys below `drop`."""
    store = MemoryStore()
    for key in KEYS:
        obstore.put(store, f"drop/{key}", b"x")
    return BucketFiles(lambda _root: store)


@pytest.mark.parametrize(
    "pattern",
    ["*.csv", "?.csv", "[ab].csv", "[!a].csv", ".*.csv", "**/*.csv", "**/a.csv", "x/**", "x/*/a.csv", "*/.trash/*.csv"],
)
def test_a_pattern_matches_as_in_a_folder(files: BucketFiles, tmp_path: Path, pattern: str) -> None:
    """The shell's rules hold: hidden names need a dot in the pattern, and `*` ends at a slash."""
    for key in KEYS:
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).touch()
    matches = glob.glob(pattern, root_dir=tmp_path, recursive=True)  # noqa: PTH207 - a Path has other rules
    expected = {name for name in matches if (tmp_path / name).is_file()}

    folder, urls = matches_of(f"s3://bucket/drop/{pattern}", files)

    assert urls == sorted(f"s3://bucket/drop/{name}" for name in expected)
    assert f"s3://bucket/drop/{pattern}".startswith(f"{folder}/")
    assert urls != []


def test_brackets_in_the_name_of_a_folder_are_literal(files: BucketFiles) -> None:
    """Such a folder exists, so it is no pattern."""
    obstore.put(files._open_root("s3://bucket"), "drop [1]/a.csv", b"x")

    assert matches_of("s3://bucket/drop [1]/*.csv", files) == ("s3://bucket/drop [1]", ["s3://bucket/drop [1]/a.csv"])


def test_a_pattern_that_matches_nothing_gives_no_urls(files: BucketFiles) -> None:
    """The caller says that no manifest matches."""
    assert matches_of("s3://bucket/drop/*.parquet", files) == ("s3://bucket/drop", [])
