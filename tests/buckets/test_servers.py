"""The storage servers of these tests have the properties that the other tests rely on."""

import fcntl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from pathlib import Path

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError

from ..servers import buckets
from ..servers.buckets import Bucket, S3Server
from ..worlds.waiting import wait_for


def test_object_is_there_once_it_is_put(bucket: Bucket) -> None:
    """An object is read as it was written, under any name."""
    bucket.put("a b/ü+%#'\"☃.wav", b"sound")

    assert bucket.keys() == ["a b/ü+%#'\"☃.wav"]
    assert bucket.content("a b/ü+%#'\"☃.wav") == b"sound"


def test_conditional_server_lets_one_racer_through(bucket: Bucket) -> None:
    """Of several creates of a name at once, one wins."""

    def create(number: int) -> bool:
        try:
            obstore.put(bucket.store, "name", b"%d" % number, mode="create")
        except AlreadyExistsError:
            return False
        return True

    with ThreadPoolExecutor(16) as racers:
        won = sum(racers.map(create, range(16)))

    assert won == 1


def test_swift_checks_signatures(swift: S3Server) -> None:
    """A request that is signed with another secret is refused."""
    bucket = swift.new_bucket()
    name = bucket.url.removeprefix("s3://")
    forger = obstore.store.S3Store(
        name,
        endpoint=swift.url,
        region=swift.region,
        access_key_id=swift.access_key,
        secret_access_key="guessed",
        client_options={"allow_http": True},
    )

    with pytest.raises(obstore.exceptions.BaseError, match="SignatureDoesNotMatch"):
        obstore.list(forger).collect()


@contextmanager
def locked(listings: Path) -> Iterator[None]:
    """Hold the locks of all of Swift's listings, as a slow disk does."""
    locks = [(database.parent / ".lock").open("w") for database in listings.glob("*/*/*/*.db")]
    assert locks
    for lock in locks:
        fcntl.flock(lock, fcntl.LOCK_EX)
    yield
    for lock in locks:
        lock.close()


def test_what_was_put_is_listed_however_slow_the_disk_is(tmp_path: Path) -> None:
    """A put that cannot be written into the listing yet is not answered yet; by itself, Swift waits a second."""
    with buckets.swift(tmp_path) as server, ThreadPoolExecutor(1) as other:
        bucket = server.new_bucket()
        with locked(tmp_path / "cluster" / "devices" / "disk" / "containers"):
            put = other.submit(bucket.put, "name", b"sound")
            wait([put], timeout=4)
            assert not put.done()
        put.result()

        assert bucket.keys() == ["name"]


def test_what_a_kill_cut_off_is_listed_later(tmp_path: Path) -> None:
    """The store is killed while an object is on the disk and not in its listing yet; it was not answered."""
    devices = tmp_path / "cluster" / "devices" / "disk"
    with ThreadPoolExecutor(1) as other, ExitStack() as lock:
        with buckets.swift(tmp_path) as server:
            name = server.new_bucket().url.removeprefix("s3://")
            lock.enter_context(locked(devices / "containers"))
            put = other.submit(server.client.put_object, Bucket=name, Key="name", Body=b"sound")
            wait_for(lambda: list(devices.glob("objects/**/*.data")))
        assert put.exception() is not None  # the store's end killed it

    with buckets.swift(tmp_path) as server:

        def listed() -> list[str]:
            return [each["Key"] for each in server.client.list_objects_v2(Bucket=name).get("Contents", [])]

        wait_for(lambda: listed() == ["name"], listed)
