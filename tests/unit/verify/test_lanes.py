"""The object in which processes tell each other how they share a lane."""

from pathlib import Path

import pytest

from proofsweep.client.lane_model import TokenBucket
from proofsweep.client.rate_share import Lane, Member
from proofsweep.store.objects import FolderStore
from proofsweep.verify.lane_sharing import LaneObject

FOLDER = "_lanes/0123456789ab-01234567"


def lane_of(name: str) -> Lane:
    return Lane(bucket=TokenBucket(20.0, 10.0), keeper=name, members={name: Member(priority=1, rate=5.0)})


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path)


def test_what_one_tells_another_reads(store: FolderStore) -> None:
    """By a listing, or by the name that comes next."""
    one, other = LaneObject(store, FOLDER), LaneObject(store, FOLDER)
    assert other.latest() == Lane()

    assert one.tell(lane_of("one"))

    assert other.newer() == lane_of("one")
    assert LaneObject(store, FOLDER).latest() == lane_of("one")


def test_of_two_that_tell_at_once_one_must_read_first(store: FolderStore) -> None:
    """Neither overwrites what the other has told."""
    one, other = LaneObject(store, FOLDER), LaneObject(store, FOLDER)

    assert [one.tell(lane_of("one")), other.tell(lane_of("other"))] == [True, False]
    assert other.latest() == lane_of("one")
    assert other.tell(lane_of("other"))
    assert one.newer() == lane_of("other")


class LyingStore(FolderStore):
    """Lets each create through; the last one's object stands."""

    def create(self, name: str, content: bytes) -> None:
        self.replace(name, content)
        self.replace(name, content.replace(b'"one"', b'"other"'))


def test_a_store_that_lets_two_through_is_found_out(tmp_path: Path) -> None:
    """What stands there counts."""
    lane = LaneObject(LyingStore(tmp_path), FOLDER)

    assert not lane.tell(lane_of("one"))
    assert lane.latest() == lane_of("other")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"members": 3}'])
def test_what_cannot_be_understood_is_followed_by_a_new_beginning(store: FolderStore, content: bytes) -> None:
    """Such as what a process that was killed left, or another release."""
    store.create(f"{FOLDER}/000000000007.json", content)
    lane = LaneObject(store, FOLDER)

    assert lane.latest() == Lane()
    assert lane.tell(lane_of("one"))
    assert lane.number == 8


def test_old_objects_are_deleted(store: FolderStore) -> None:
    """Also by a process that finds those of others."""
    lane = LaneObject(store, FOLDER)
    for _ in range(100):
        assert lane.tell(lane_of("one"))

    assert len(store.names(FOLDER)) == 32
    assert LaneObject(store, FOLDER).latest() == lane_of("one")
