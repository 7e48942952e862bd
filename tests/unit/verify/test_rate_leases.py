"""Each process keeps a lease in the store, by which those of one key share its rate limit."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.client.call_queue import CallQueue
from proofsweep.client.pacer import Pacer
from proofsweep.client.rate_share import Weight
from proofsweep.client.scheduler import Dispatcher
from proofsweep.client.stop import StopSwitch
from proofsweep.domain.exchanges import Call
from proofsweep.store.objects import FolderStore
from proofsweep.verify.rate_leases import RateLeases

from ...worlds.waiting import wait_for
from ..left_behind import exchange

FOLDER = "_rates/0123456789ab-01234567"
NOW = datetime(2026, 11, 25, 23, 0, tzinfo=UTC)


def leases_of(store: FolderStore, *, weight: float = Weight.VERIFY, now: datetime = NOW) -> RateLeases:
    return RateLeases(
        store=store,
        folder=FOLDER,
        dispatcher=Dispatcher(CallQueue(Pacer(20.0)), StopSwitch()),
        clock=lambda: now,
        weight=weight,
    )


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path)


def test_two_processes_share_a_rate_and_one_that_ends_leaves_it(store: FolderStore) -> None:
    """The other has all of it then."""
    one, other = leases_of(store), leases_of(store)

    with one.shared():
        with other.shared():
            wait_for(lambda: one.dispatcher.status().is_shared and other.dispatcher.status().is_shared)
        wait_for(lambda: not one.dispatcher.status().is_shared)

    assert store.names(FOLDER) == []


def test_a_process_that_comes_knows_of_the_pause_that_another_was_told(store: FolderStore) -> None:
    """What is left of it."""
    one = leases_of(store)
    one.dispatcher.pause_all(exchange(Call.VERIFY, 429), None, 40.0)
    one.look()

    other = leases_of(store, now=NOW + timedelta(seconds=10))
    other.look()

    assert 29.0 < other.dispatcher.status().pause_seconds < 34.5


def test_a_process_that_ends_leaves_word_of_a_pause_that_lasts(store: FolderStore) -> None:
    """The next one does not call before its end, and has the whole rate."""
    one, other = leases_of(store), leases_of(store)
    with one.shared():
        one.dispatcher.pause_all(exchange(Call.VERIFY, 429), None, 40.0)

    other.look()

    assert other.dispatcher.status().pause_seconds > 38.0
    assert not other.dispatcher.status().is_shared


def test_who_makes_a_few_calls_keeps_to_a_pause_and_takes_no_part(store: FolderStore) -> None:
    """As `check` does: nothing is stored."""
    one, check = leases_of(store), leases_of(store)
    one.dispatcher.pause_all(exchange(Call.VERIFY, 429), None, 40.0)
    one.look()

    check.heed()

    assert check.dispatcher.status().pause_seconds > 38.0
    assert not check.dispatcher.status().is_shared
    assert len(store.names(FOLDER)) == 1


def test_nobody_heeds_a_pause_for_longer_than_two_minutes(store: FolderStore) -> None:
    """A clock may have jumped; and a command does not wait for an hour without a call of its own."""
    one, check = leases_of(store), leases_of(store)
    one.dispatcher.pause_all(exchange(Call.VERIFY, 429), None, 3_600.0)
    one.look()

    check.heed()

    assert 100.0 < check.dispatcher.status().pause_seconds <= 120.0


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"lease": 3}'])
def test_what_cannot_be_understood_is_ignored(store: FolderStore, content: bytes) -> None:
    """Such as what another release wrote."""
    store.create(f"{FOLDER}/abc.json", content)
    process = leases_of(store)

    process.look()

    assert not process.dispatcher.status().is_shared


def test_the_lease_of_a_process_that_was_killed_long_ago_is_deleted(store: FolderStore) -> None:
    """Else a pause that it was told would hold up each process that begins."""
    leases_of(store).look()
    assert len(store.names(FOLDER)) == 1

    assert leases_of(store, now=NOW + timedelta(hours=1)).read() == {}
    assert store.names(FOLDER) == []
