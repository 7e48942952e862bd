"""A results store behaves the same in a folder and in every kind of bucket."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from ..servers.buckets import PAGE_KEYS, Bucket, BucketServer
from ..worlds.bucket_world import export_bucket
from ..worlds.core import NameTaken, Store, results_at

NAME = "verdicts/run_date=2026-11-20/20261120T091500Z_8c1f04-00000-001.parquet"


@pytest.fixture(params=["folder", "moto", "azurite"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bucket | Path:
    """The place of a store: a folder, or a bucket that this process may reach."""
    if request.param == "folder":
        return tmp_path / "results"
    server: BucketServer = request.getfixturevalue(request.param)
    bucket = server.new_bucket()
    export_bucket(monkeypatch, bucket)
    return bucket


@pytest.fixture
def store(place: Bucket | Path) -> Store:
    """An empty store; in a bucket it is below a prefix."""
    return results_at(f"{place.url}/some/where" if isinstance(place, Bucket) else place).store


def test_object_is_read_as_it_was_created(store: Store) -> None:
    """Byte for byte, with no byte and with millions of bytes."""
    contents = {
        NAME: b"PAR1 \x00\xff",
        "_runs/r/empty": b"",
        "_runs/r/items/00000.parquet": bytes(range(256)) * 40_000,
    }

    for name, content in contents.items():
        store.create(name, content)

    assert {name: store.read(name) for name in contents} == contents


def test_other_bytes_under_a_name_are_refused(store: Store) -> None:
    """The first ones stay; to write them again, as after an answer that was lost, is no error."""
    store.create(NAME, b"first")
    store.create(NAME, b"first")

    with pytest.raises(NameTaken):
        store.create(NAME, b"second")

    assert store.read(NAME) == b"first"


def test_one_of_many_creates_wins_and_its_content_is_whole(store: Store) -> None:
    """Of sixteen creates at once one wins."""
    start = Barrier(16)

    def create(number: int) -> bytes | None:
        content = bytes([number]) * 200_000
        start.wait(30.0)
        try:
            store.create(NAME, content)
        except NameTaken:
            return None
        return content

    with ThreadPoolExecutor(16) as racers:
        won = [content for content in racers.map(create, range(16)) if content is not None]

    assert store.read(NAME) in won
    assert len(won) == 1


def test_reader_sees_an_object_whole_or_not_at_all(store: Store) -> None:
    """While large objects are created, a reader gets nothing or everything."""
    content = b"whole" * 500_000
    names = [f"verdicts/part-{number}" for number in range(8)]

    def read_all(_: int) -> Iterator[bytes | None]:
        return iter([store.read(name) for name in names])

    with ThreadPoolExecutor(3) as workers:
        writing = workers.submit(lambda: [store.create(name, content) for name in names])
        read = [found for batch in workers.map(read_all, range(6)) for found in batch]
        writing.result()

    assert {len(found) for found in read if found is not None} <= {len(content)}
    assert [store.read(name) == content for name in names] == [True] * 8


def test_names_are_sorted_and_of_one_folder(store: Store) -> None:
    """Folders are listed separately; hidden names are not listed; a longer name is another folder."""
    for name in ("t/b", "t/a", "t/.hidden", "t/sub/c", "t/other/deep/d", "t2/e", "t/run_date=2026-11-20/f"):
        store.create(name, b"content")

    assert store.names("t") == ["t/a", "t/b"]
    assert store.folders("t") == ["other", "run_date=2026-11-20", "sub"]


def test_what_is_missing_is_empty_and_no_error(store: Store) -> None:
    """A new store is empty; a second delete changes nothing."""
    store.create("t/a", b"1")
    store.delete("t/a")
    store.delete("t/a")

    assert store.read("t/a") is None
    assert (store.names("nowhere"), store.folders("nowhere")) == ([], [])
    assert (store.read("t/a/b"), store.names("t/a")) == (None, [])


def test_object_that_is_replaced_has_its_last_content(store: Store) -> None:
    """A reader meanwhile gets the old one or the new one, whole."""
    contents = [bytes([number]) * 200_000 for number in range(16)]
    store.replace(NAME, contents[0])

    with ThreadPoolExecutor(1) as workers:
        writing = workers.submit(lambda: [store.replace(NAME, content) for content in contents])
        read = {store.read(NAME) for _ in range(16)}
        writing.result()

    assert read <= set(contents)
    assert store.read(NAME) == contents[-1]


def test_listing_ends_with_its_last_page(store: Store) -> None:
    """A server lists so many objects at a time: all names are listed once, in order."""
    names = [f"_runs/r/journal/001/exchanges-{number:06}.arrow" for number in range(2 * PAGE_KEYS + 10)]
    with ThreadPoolExecutor(16) as workers:
        list(workers.map(lambda name: store.create(name, b"x"), names))

    assert store.names("_runs/r/journal/001") == names
    assert store.folders("_runs/r/journal") == ["001"]
