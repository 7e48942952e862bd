"""The storage servers of these tests have the properties that the other tests rely on."""

from concurrent.futures import ThreadPoolExecutor

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError

from ..servers.buckets import Bucket, S3Server


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
