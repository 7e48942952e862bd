"""A list that a job wrote as a folder of parts is read as one list."""

from pathlib import Path

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import MemoryStore

from proofsweep.domain.errors import CatalogError
from proofsweep.files.bucket_files import BucketFiles
from proofsweep.files.files import Files
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.sources.parts import parts_of


def put(folder: Path, name: str, content: str = "") -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content)


@pytest.mark.parametrize(
    ("whole", "names"),
    [
        ("list.csv", ["part-00000-8c1f.csv", "part-00001-8c1f.csv", "_SUCCESS", ".part-00000-8c1f.csv.crc"]),
        ("list.csv", ["0.part", "1.part"]),
        ("export", ["_SUCCESS", "part-00000.csv", "part-00001.csv"]),
        ("export", ["part-0.csv", "part-1.csv"]),
        ("list.csv", ["part-00000", "part-00001"]),
    ],
)
def test_the_parts_of_a_job_are_one_list(tmp_path: Path, whole: str, names: list[str]) -> None:
    """Its locations are relative to the folder above, as if the folder were a file; a row names its part."""
    parts = [name for name in names if "_SUCCESS" not in name and "crc" not in name]
    for name in names:
        put(tmp_path / whole, name, f"audio\nmusic/{parts.index(name)}.wav\n" if name in parts else "")

    for location in (whole, f"{whole}/"):
        catalog = open_catalog(str(tmp_path / location))
        rows = list(catalog.rows())

        assert [row.named_audio for row in rows] == ["music/0.wav", "music/1.wav"]
        assert (catalog.kind, catalog.name) == ("manifest", tmp_path.name)
        assert rows[0].where == f"{whole}/{parts[0]}, line 2"


def test_the_folders_of_a_partition_are_columns(tmp_path: Path) -> None:
    for supplier, audio in (("Alba%20Nord", "a.wav"), ("__HIVE_DEFAULT_PARTITION__", "b.wav")):
        folder = tmp_path / "list.parquet" / f"supplier={supplier}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"audio": [audio]}), folder / "part-0.parquet")

    rows = list(open_catalog(str(tmp_path / "list.parquet")).rows())

    assert {row.named_audio: dict(row.tags) for row in rows} == {"a.wav": {"supplier": "Alba Nord"}, "b.wav": {}}


@pytest.mark.parametrize(
    "names",
    [
        ["a.wav", "list.csv"],
        ["list.csv", "other.csv"],
        ["part-0.csv", "part-1.parquet"],
        ["part-0.csv", "album/part-1.csv"],
        ["_SUCCESS"],
        ["list.csv/part-0.csv"],
    ],
)
def test_another_folder_is_no_list(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        put(tmp_path / "drop", name, "audio\na.wav\n")

    assert parts_of(str(tmp_path / "drop"), Files()) == []


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        ("_temporary/0/part-0.csv", "the job that writes this list has not ended"),
        ("_delta_log/0.json", "this is a Delta table"),
    ],
)
def test_parts_that_are_not_the_list_are_refused(tmp_path: Path, beside: str, words: str) -> None:
    """A job still writes it, or some parts were replaced by others."""
    put(tmp_path / "list.csv", beside, "audio\n")
    put(tmp_path / "list.csv", "part-0.csv", "audio\na.wav\n")

    with pytest.raises(CatalogError, match=words):
        open_catalog(str(tmp_path / "list.csv"))


def test_parts_lie_in_buckets_too() -> None:
    store = MemoryStore()
    for name in ("list.csv/", "list.csv/_SUCCESS", "list.csv/day=1/part-0.csv", "music/a.wav"):
        obstore.put(store, name, b"audio\na.wav\n")
    files = Files(buckets=BucketFiles(lambda _root: store))

    assert parts_of("s3://drops/list.csv", files) == ["s3://drops/list.csv/day=1/part-0.csv"]
    assert parts_of("s3://drops/music", files) == []
