"""Each process keeps a lease in the store, by which those of one key share its rate limit."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from proofsweep.client.keys import fingerprint
from proofsweep.client.service_clock import ServiceClock
from proofsweep.config.proxies import Proxies
from proofsweep.config.sections import PaceSettings, RetrySettings, ServiceSettings, TimeoutSettings
from proofsweep.config.threads import monotonic
from proofsweep.domain.exchanges import Call
from proofsweep.store import layout
from proofsweep.store.objects import FolderStore
from proofsweep.verify.rate_leases import RateLeases
from proofsweep.verify.service import Service

from ...worlds.waiting import wait_for
from ..left_behind import exchange

SERVICE = ServiceSettings(base_url="https://partner.example/v1", environment="beta")
KEY = SecretStr("pk_test")
FOLDER = layout.rate_leases_folder(fingerprint(KEY), SERVICE.base_url)
NOW = datetime(2026, 11, 25, 23, 0, tzinfo=UTC)


@dataclass
class Process:
    """One process of a key, on a machine with a clock of its own; the service's time is `now` when it begins."""

    store: FolderStore
    now: datetime = NOW
    remembered: float | None = None
    seconds_ahead: float = 0.0  # of its machine's clock

    def __post_init__(self) -> None:
        pace, retry, timeouts = PaceSettings(first_rate=20.0), RetrySettings(), TimeoutSettings()
        clock = ServiceClock(own=lambda: self.now + timedelta(seconds=self.seconds_ahead))
        clock.record(self.now, monotonic(), monotonic())
        service = Service(SERVICE, pace, retry, timeouts, lambda: KEY, proxies=Proxies({}), clock=clock)
        self.scheduler, self.leases = service.scheduler, RateLeases(self.store, service, rate=self.remembered)
        self.scheduler.remember(self.remembered)

    def is_told(self, pause_seconds: float) -> None:
        """Be asked for a pause by a 429."""
        ticket = self.scheduler.wait_turn(Call.VERIFY, object())
        self.scheduler.pause_all(exchange(Call.VERIFY, 429), ticket, pause_seconds)


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path)


def test_two_processes_share_a_rate_and_one_that_ends_leaves_it(store: FolderStore) -> None:
    one, other = Process(store), Process(store)

    with one.leases.shared():
        with other.leases.shared():
            wait_for(lambda: one.scheduler.status().is_shared and other.scheduler.status().is_shared)
        wait_for(lambda: not one.scheduler.status().is_shared)

    assert store.names(FOLDER) == []


def test_a_rate_that_is_remembered_does_not_grow_beside_the_lease_of_a_process_that_was_killed(
    store: FolderStore,
) -> None:
    """Such a lease stays for hours, and each process that comes takes it for a living one at first."""
    Process(store).leases.look()
    process = Process(store, remembered=20.0)

    process.leases.look()

    assert process.scheduler.status().is_shared
    assert process.scheduler.status().rate == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("told_seconds", "later_seconds", "is_heeded_alone", "least", "most"),
    [(40.0, 10, False, 29.0, 35.5), (40.0, 0, True, 38.0, 45.5), (3_600.0, 0, True, 100.0, 120.0)],
)
def test_a_process_that_comes_knows_of_the_pause_that_another_was_told(
    store: FolderStore, *, told_seconds: float, later_seconds: int, is_heeded_alone: bool, least: float, most: float
) -> None:
    """Of what is left of it, and of at most two minutes. `check` writes no lease for that."""
    one, other = Process(store), Process(store, now=NOW + timedelta(seconds=later_seconds), seconds_ahead=3_600.0)
    one.is_told(told_seconds)
    one.leases.write_pause()

    (other.leases.heed if is_heeded_alone else other.leases.heed_pause)()

    assert least < other.scheduler.status().pause_seconds <= most
    assert store.names(FOLDER) == []


def test_a_pause_binds_the_other_processes_while_they_work(store: FolderStore) -> None:
    """Whatever the clock of their machine says, and without a look at all leases."""
    one, other = Process(store), Process(store, seconds_ahead=7_200.0)
    with one.leases.shared(), other.leases.shared():
        one.is_told(40.0)

        wait_for(lambda: other.scheduler.status().pause_seconds > 38.0)


def test_a_process_that_ends_leaves_word_of_a_pause_that_lasts(store: FolderStore) -> None:
    """The next one does not call before its end, and has the whole rate."""
    one, other = Process(store), Process(store)
    with one.leases.shared():
        one.is_told(40.0)

    with other.leases.shared():
        status = other.scheduler.status()

    assert status.pause_seconds > 38.0
    assert not status.is_shared


def test_a_pause_that_is_over_is_left_by_nobody(store: FolderStore) -> None:
    """Else a process without the service's clock would keep to it once more."""
    one = Process(store)
    with one.leases.shared():
        one.is_told(0.3)
        wait_for(lambda: store.names("_rates") != [])
        wait_for(lambda: one.scheduler.status().pause_seconds == 0.0)

    assert store.names("_rates") == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"lease": 3}'])
def test_what_cannot_be_understood_is_ignored(store: FolderStore, content: bytes) -> None:
    store.create(f"{FOLDER}/abc.json", content)
    process = Process(store)

    process.leases.look()

    assert not process.scheduler.status().is_shared


def test_the_lease_of_a_process_that_was_killed_is_deleted(store: FolderStore) -> None:
    """By nobody's clock: it has stood still for so long while another process watched."""
    Process(store).leases.look()
    process = Process(store)
    process.leases.look()
    (killed,) = set(process.leases.read())

    process.scheduler.clock = lambda: monotonic() + 60.0
    process.leases.look()

    assert killed not in process.leases.read()
    assert len(store.names(FOLDER)) == 1
