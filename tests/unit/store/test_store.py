"""A results store is opened by its location, of whatever kind it is."""

from pathlib import Path

import obstore
import pytest
from obstore.store import MemoryStore

from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.store.bucket_store import BucketStore
from proofsweep.store.objects import FolderStore, Store, open_store, probe


@pytest.mark.parametrize("url", ["{}/results", "file://{}/results"])
def test_a_store_is_opened_by_path_or_file_url(tmp_path: Path, url: str) -> None:
    """Opening it makes nothing."""
    store = open_store(url.format(tmp_path))

    assert store.url == str(tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_a_kind_of_store_that_is_not_known_is_named() -> None:
    """Rather than made as a folder of that name."""
    with pytest.raises(ResultsError, match="ftp://"):
        open_store("ftp://host/results")


def test_a_bucket_url_opens_a_store_and_asks_nothing() -> None:
    """Credentials are looked for at the first use."""
    assert open_store("s3://bucket/results/").url == "s3://bucket/results"


def test_a_url_with_a_password_is_refused() -> None:
    """And the password is not repeated."""
    with pytest.raises(ResultsError, match=r"docs/buckets\.md") as refused:
        open_store("s3://me:hunter2@bucket/results")

    assert "hunter2" not in refused.value.message


def test_a_store_is_called_in_messages_what_it_is(tmp_path: Path) -> None:
    """A record of keys is kept as results are, and is none of them."""
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(ResultsError, match=r"^The record of keys .* cannot be written"):
        open_store(str(tmp_path / "file"), "record of keys").replace("keys.json", b"")


class OverwritingStore(BucketStore):
    """A bucket that knows no conditions, as at some gateways."""

    def create(self, name: str, content: bytes) -> None:
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


NAME = "verdicts/run_date=2026-11-20/r-00000-001.parquet"


@pytest.fixture(params=["folder", "s3://bucket", "s3://bucket/deep/results"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A store in a folder that is not there yet, in a bucket's root, and below a prefix."""
    if request.param == "folder":
        return FolderStore(tmp_path / "deep" / "results")
    bucket = MemoryStore()
    obstore.put(bucket, "deep/results-of-another/t/x", b"")
    return BucketStore(request.param, lambda _root: bucket)


def test_an_object_is_created_once_and_read_as_it_was_created(store: Store, tmp_path: Path) -> None:
    """The second to create a name is told so, and leaves no draft."""
    store.create(NAME, b"first")

    with pytest.raises(NameTaken):
        store.create(NAME, b"second")

    assert store.read(NAME) == b"first"
    assert [path for path in tmp_path.rglob("*") if path.name.startswith(".")] == []


def test_an_object_that_is_replaced_has_its_last_content(store: Store, tmp_path: Path) -> None:
    """The first replacement makes it, and no draft stays behind."""
    for content in (b"first", b"second"):
        store.replace("legs/001/heartbeat.json", content)

    assert store.read("legs/001/heartbeat.json") == b"second"
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} <= {"heartbeat.json"}


def test_names_are_sorted_and_full_and_of_one_folder(store: Store) -> None:
    """Folders beside them are listed by themselves; hidden names are left out."""
    for name in ("t/b", "t/a", "t/.hidden", "t/sub/c", "t/other/d", "t-else/e"):
        store.create(name, b"")

    assert store.names("t") == ["t/a", "t/b"]
    assert store.folders("t") == ["other", "sub"]
    assert store.folders("t", "other") == ["sub"]


def test_what_is_missing_is_empty_and_no_error(store: Store) -> None:
    """A new store has nothing in it; deleting twice is deleting once."""
    store.create("t/a", b"")
    store.delete("t/a")
    store.delete("t/a")

    assert store.read("t/a") is None
    assert (store.names("nowhere"), store.folders("nowhere")) == ([], [])
    assert (store.read("t/a/b"), store.names("t/a")) == (None, [])
