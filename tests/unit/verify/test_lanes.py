"""Processes share a lane by an object of the store, and a leg begins with the rate that the last one learned."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.client.call_queue import CallQueue, ServiceHealth
from proofsweep.client.lane_model import TokenBucket
from proofsweep.client.pacer import Pacer
from proofsweep.client.rate_share import Lane, LanePriority, Member
from proofsweep.client.scheduler import Dispatcher
from proofsweep.client.stop import StopSwitch
from proofsweep.store.objects import FolderStore, Store
from proofsweep.verify.lane_sharing import LaneObject, LaneSharing

from ...worlds.waiting import wait_for

FOLDER = "_lanes/0123456789ab-01234567"
NOW = datetime(2026, 11, 25, 23, 0, tzinfo=UTC)


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


def sharing(store: Store) -> LaneSharing:
    return LaneSharing(
        lane=LaneObject(store, FOLDER),
        dispatcher=Dispatcher(CallQueue(Pacer(20.0)), ServiceHealth(), StopSwitch()),
        clock=lambda: NOW,
        priority=LanePriority.VERIFY,
        floor_rate=1.0,
        remember_seconds=3_600.0,
    )


def test_two_processes_share_a_lane_and_one_that_ends_leaves_it(tmp_path: Path) -> None:
    """The other has all of it then."""
    store = FolderStore(tmp_path)
    one, other = sharing(store), sharing(store)

    with one.shared():
        with other.shared():
            wait_for(lambda: one.dispatcher.status().is_shared and other.dispatcher.status().is_shared)
        wait_for(lambda: not one.dispatcher.status().is_shared)

    assert not LaneObject(store, FOLDER).latest().members


def test_a_rate_that_was_learned_is_a_first_guess_for_the_next(tmp_path: Path) -> None:
    """Also where its own results store knows nothing of it."""
    store = FolderStore(tmp_path)
    with sharing(store).shared():
        pass
    fresh = sharing(store)
    fresh.dispatcher = Dispatcher(CallQueue(Pacer()), ServiceHealth(), StopSwitch())

    fresh.look()

    assert fresh.dispatcher.status().rate == pytest.approx(19.0)
