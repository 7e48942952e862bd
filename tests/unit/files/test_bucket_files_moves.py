"""Creating and removing objects, in obstore's store in memory."""

import hashlib
from typing import TYPE_CHECKING

import obstore
import pytest
from obstore.store import MemoryStore

from proofsweep.errors import NameTaken, SourceError
from proofsweep.files.bucket_files import BucketFiles, facts_of

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SHA256 = hashlib.sha256(b"content").hexdigest()


@pytest.fixture
def store() -> "ObjectStore":
    """An empty store."""
    return MemoryStore()


@pytest.fixture
def moves(store: "ObjectStore") -> BucketFiles:
    """Moves in that store, whatever the bucket's name."""
    return BucketFiles(lambda _root: store)


def test_an_object_is_created_where_none_is(store: "ObjectStore", moves: BucketFiles) -> None:
    """A second one of that name is refused, and other bytes never get a name."""
    moves.create("s3://b/ok/a.wav", [b"con", b"tent"], SHA256)

    with pytest.raises(NameTaken):
        moves.create("s3://b/ok/a.wav", [b"content"], SHA256)
    with pytest.raises(SourceError, match="not the one that was verified"):
        moves.create("s3://b/ok/b.wav", [b"other"], SHA256)

    assert [each["path"] for each in obstore.list(store).collect()] == ["ok/a.wav"]
    assert bytes(obstore.get(store, "ok/a.wav").bytes()) == b"content"


def test_only_the_object_that_was_looked_at_is_deleted(store: "ObjectStore", moves: BucketFiles) -> None:
    """One that was replaced meanwhile stays; one that is gone is gone."""
    obstore.put(store, "a.wav", b"old")
    facts = facts_of(obstore.head(store, "a.wav"))
    obstore.put(store, "a.wav", b"newer")

    assert not moves.remove("s3://b/a.wav", facts)
    assert bytes(obstore.get(store, "a.wav").bytes()) == b"newer"

    newer = facts_of(obstore.head(store, "a.wav"))
    assert moves.remove("s3://b/a.wav", newer)
    assert moves.remove("s3://b/a.wav", newer)
    assert obstore.list(store).collect() == []


def test_a_bucket_that_cannot_be_opened_is_a_sentence() -> None:
    """The store's own text is not shown."""

    def fail(_root: str) -> "ObjectStore":
        raise ValueError("https://secret.example")

    with pytest.raises(SourceError) as raised:
        BucketFiles(fail).create("s3://b/a.wav", [b"content"], SHA256)

    assert "secret" not in raised.value.message
