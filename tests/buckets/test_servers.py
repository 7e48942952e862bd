"""The storage servers of these tests have the properties that the other tests rely on."""

from concurrent.futures import ThreadPoolExecutor

import obstore
from obstore.exceptions import AlreadyExistsError

from ..servers.buckets import Bucket


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
