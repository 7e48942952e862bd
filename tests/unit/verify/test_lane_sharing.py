"""A lane is shared beside the work, which never waits for it."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.client.call_queue import CallQueue, ServiceHealth
from proofsweep.client.pacer import Pacer
from proofsweep.client.rate_share import LanePriority
from proofsweep.client.scheduler import Dispatcher
from proofsweep.client.stop import StopSwitch
from proofsweep.domain.errors import ResultsError
from proofsweep.store.objects import FolderStore, Store
from proofsweep.verify.lane_sharing import LaneObject, LaneSharing

FOLDER = "_lanes/a"
NOW = datetime(2026, 11, 25, 23, 0, tzinfo=UTC)


def sharing(store: Store) -> LaneSharing:
    """Return one process's part in a lane of 20 calls a second."""
    return LaneSharing(
        lane=LaneObject(store, FOLDER),
        dispatcher=Dispatcher(CallQueue(Pacer(20.0)), ServiceHealth(), StopSwitch()),
        clock=lambda: NOW,
        priority=LanePriority.VERIFY,
        floor_rate=1.0,
        remember_seconds=3_600.0,
    )


def comes(condition: Callable[[], bool]) -> bool:
    """Wait until something is so, for ten seconds at most."""
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        threading.Event().wait(0.05)
    return condition()


def test_two_processes_share_a_lane_and_one_that_ends_leaves_it(tmp_path: Path) -> None:
    """The other has all of it then."""
    store = FolderStore(tmp_path)
    one, other = sharing(store), sharing(store)

    with one.shared():
        with other.shared():
            assert comes(lambda: one.dispatcher.status().is_shared and other.dispatcher.status().is_shared)
        assert comes(lambda: not one.dispatcher.status().is_shared)

    assert not LaneObject(store, FOLDER).latest().members


class Unwritable(FolderStore):
    """Only reads."""

    def create(self, name: str, content: bytes) -> None:  # noqa: ARG002 - the port's signature
        raise ResultsError("It cannot be written.")


def test_a_store_that_can_only_be_read_is_used_like_none(tmp_path: Path) -> None:
    """The work goes on."""
    alone = sharing(Unwritable(tmp_path))

    with alone.shared():
        assert not alone.dispatcher.status().is_shared


def test_a_rate_that_was_learned_is_a_first_guess_for_the_next(tmp_path: Path) -> None:
    """Also where its own results store knows nothing of it."""
    store = FolderStore(tmp_path)
    with sharing(store).shared():
        pass
    fresh = sharing(store)
    fresh.dispatcher = Dispatcher(CallQueue(Pacer()), ServiceHealth(), StopSwitch())

    fresh.look()

    assert fresh.dispatcher.status().rate == pytest.approx(19.0)
