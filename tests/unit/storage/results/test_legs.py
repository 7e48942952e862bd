"""One leg of a run is active at a time, and it is known whether it still is."""

import json
import multiprocessing
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.domain.runs import STALE_SECONDS
from proofsweep.errors import NameTaken, ResultsError
from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.plans_and_parts import Results


@dataclass(slots=True)
class Clock:
    """A host's two clocks, which a test moves; something may happen while one waits."""

    now: datetime = field(default_factory=lambda: datetime(2026, 11, 20, 12, 0, tzinfo=UTC))
    uptime_seconds: float = 100.0
    meanwhile: Callable[[], None] = lambda: None

    def __call__(self) -> datetime:
        """Tell the time."""
        return self.now

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self.uptime_seconds += seconds
        self.jump(seconds)

    def jump(self, seconds: float) -> None:
        """Set the wall clock."""
        self.now += timedelta(seconds=seconds)

    def rest(self, seconds: float) -> None:
        """Wait, while something happens."""
        self.move(seconds)
        self.meanwhile()


@pytest.fixture
def clock() -> Clock:
    """Give a clock that stands."""
    return Clock()


@pytest.fixture
def legs(tmp_path: Path, clock: Clock) -> Legs:
    """Give the legs of a run that has none yet."""
    return legs_of(FolderStore(tmp_path), clock)


def legs_of(store: FolderStore, clock: Clock) -> Legs:
    """Give the legs that are in a store."""
    return Legs(Results(store), "r", clock, lambda: clock.uptime_seconds, clock.rest)


def claim_of(legs: Legs, **changes: object) -> None:
    """Write a claim of leg 1 that is this process's own but for some changes."""
    legs.claim(9)
    claim = json.loads(legs.results.store.read("_runs/r/legs/009/claim.json") or b"")
    legs.results.store.create("_runs/r/legs/001/claim.json", json.dumps(claim | changes).encode())


def test_a_leg_is_claimed_once(legs: Legs) -> None:
    """The second process gets an error, and the first stays the holder."""
    legs.claim(1)

    with pytest.raises(NameTaken):
        legs.claim(1)

    holder = legs.holder(1)
    assert holder is not None
    assert holder.pid == os.getpid()
    assert legs.numbers() == [1]


class TwoWinnersStore(FolderStore):
    """A store whose create lets a second racer through, whose object then stands."""

    def create(self, name: str, content: bytes) -> None:
        """Let another process write right behind this one."""
        other = json.dumps(json.loads(content) | {"pid": 1}).encode()
        super().create(name, other)


def test_a_leg_that_two_claimed_is_the_others(tmp_path: Path, clock: Clock) -> None:
    """What stands in the store counts, where its create is not atomic."""
    legs = legs_of(TwoWinnersStore(tmp_path), clock)

    with pytest.raises(NameTaken):
        legs.claim(1)


class UnreadableStore(FolderStore):
    """A store that fails when a claim is read back."""

    def read(self, name: str) -> bytes | None:
        """Fail, if it is there."""
        content = super().read(name)
        if content is not None and name.endswith("claim.json"):
            raise ResultsError("The store broke off.")
        return content


def test_a_claim_that_cannot_be_read_back_is_released(tmp_path: Path, clock: Clock) -> None:
    """Otherwise nobody could work on the run for half a minute, though nobody does."""
    with pytest.raises(ResultsError):
        legs_of(UnreadableStore(tmp_path), clock).claim(1)

    assert legs_of(FolderStore(tmp_path), clock).last() == 0


def test_a_released_leg_can_be_claimed_again(legs: Legs) -> None:
    """It did nothing."""
    legs.claim(1)
    legs.release(1)
    before = legs.numbers()

    legs.claim(1)

    assert (before, legs.numbers()) == ([], [1])


def test_two_claims_of_one_process_are_not_equal(legs: Legs) -> None:
    """In two containers the process number, its start and the time may be the same."""
    legs.claim(1)
    legs.claim(2)

    assert legs.holder(1) != legs.holder(2)


def test_a_leg_is_superseded_by_the_next_claim_or_by_its_receipt(legs: Legs) -> None:
    """Its process stops when it sees that, since another one does the same rows."""
    for leg in (1, 2, 3):
        legs.claim(leg)
    legs.write_receipt(3, {"ended_by": "killed"})

    assert [legs.is_superseded(leg) for leg in (2, 3)] == [True, True]
    legs.claim(4)
    assert not legs.is_superseded(4)


def test_a_leg_that_ends_while_it_is_listened_to_is_not_active(legs: Legs, clock: Clock) -> None:
    """The next one may begin."""
    claim_of(legs, host="another-host", boot="another-boot")
    clock.jump(3_600)
    clock.meanwhile = lambda: legs.write_receipt(1, {"ended_by": "quota"}) if clock.uptime_seconds == 105 else None

    assert not legs.is_active(1)
    assert clock.uptime_seconds == 105


def test_a_claimed_leg_of_a_living_process_is_alive(legs: Legs) -> None:
    """Even before its first heartbeat."""
    legs.claim(1)

    assert legs.is_alive(1)


def test_a_leg_without_a_sign_for_too_long_is_stale(legs: Legs, clock: Clock) -> None:
    """Its process may hang, or its host may be cut off."""
    legs.claim(1)
    clock.move(31)

    assert not legs.is_alive(1)


def test_the_last_beat_counts(legs: Legs, clock: Clock) -> None:
    """A leg overwrites its one heartbeat, however long it works."""
    legs.claim(1)
    for _ in range(12):
        clock.move(10)
        legs.beat(1)
    clock.move(30)
    alive = legs.is_alive(1)
    clock.move(1)

    assert alive
    assert not legs.is_alive(1)
    assert legs.results.store.names("_runs/r/legs/001") == [
        "_runs/r/legs/001/claim.json",
        "_runs/r/legs/001/heartbeat.json",
    ]


def test_a_leg_of_an_older_version_is_alive_by_its_newest_beat(legs: Legs, clock: Clock) -> None:
    """Its process may still work while this version starts; it writes a new object for each beat."""
    legs.claim(1)
    for number in range(1, 13):
        clock.move(10)
        beat = {"at": clock.now.isoformat(), "uptime_seconds": clock.uptime_seconds}
        legs.results.store.create(f"_runs/r/legs/001/beat-{number:06}.json", json.dumps(beat).encode())
    clock.move(30)
    alive = legs.is_alive(1)
    clock.move(1)

    assert alive
    assert not legs.is_alive(1)


def test_a_leg_of_a_process_that_is_gone_is_dead_at_once(legs: Legs) -> None:
    """On the same host, its last heartbeat need not become stale first."""
    process = multiprocessing.get_context("spawn").Process(target=int)
    process.start()
    process.join()

    claim_of(legs, pid=process.pid)

    assert not legs.is_alive(1)


def test_a_number_that_another_process_bears_now_is_not_the_holder(legs: Legs) -> None:
    """Process numbers are used again; their starts differ."""
    claim_of(legs, process_started="1")

    assert not legs.is_alive(1)


ELSEWHERE = ({"host": "another-host"}, {"boot": "another-boot"}, {"pid_namespace": "pid:[1]"}, {"pid_namespace": None})
"""What a claim says of a process whose number means nothing here; an older version names no namespace."""


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_a_leg_elsewhere_is_judged_by_its_heartbeat_alone(legs: Legs, clock: Clock, elsewhere: dict[str, str]) -> None:
    """Two containers on one machine may share a host name, and each has a process 1."""
    claim_of(legs, pid=2**22 + 1, **elsewhere)
    alive = legs.is_alive(1)
    clock.move(31)

    assert alive
    assert not legs.is_alive(1)


@pytest.mark.parametrize("hours", [-3, 3])
def test_a_clock_that_jumps_makes_no_leg_of_this_host_stale(legs: Legs, clock: Clock, hours: int) -> None:
    """What counts is the monotonic clock of their boot; nor does the jump keep a dead one alive."""
    legs.claim(1)
    legs.beat(1)
    clock.jump(hours * 3_600)
    alive = legs.is_alive(1)
    clock.move(31)

    assert alive
    assert not legs.is_alive(1)
    assert not legs.is_heard(1)


@pytest.mark.parametrize("seconds", [-3_600, 3_600])
def test_a_leg_elsewhere_whose_clock_is_wrong_is_heard(legs: Legs, clock: Clock, seconds: int) -> None:
    """Another process waits for three heartbeats' time before it takes the leg over; the next heartbeat tells."""
    claim_of(legs, host="another-host", boot="another-boot")
    clock.jump(seconds)
    clock.meanwhile = lambda: legs.beat(1) if clock.uptime_seconds >= 110 else None

    assert not legs.is_alive(1)
    assert legs.is_heard(1)
    assert clock.uptime_seconds <= 110


def test_a_leg_elsewhere_that_is_dead_is_not_waited_for_long(legs: Legs, clock: Clock) -> None:
    """The wait is as long as a sign of life may be old."""
    claim_of(legs, host="another-host", boot="another-boot")
    clock.move(31)

    assert not legs.is_heard(1)
    assert clock.uptime_seconds == 131 + STALE_SECONDS


def test_a_claim_of_a_later_release_is_a_claim(legs: Legs) -> None:
    """What else it may say is ignored."""
    claim_of(legs, mood="good")

    assert legs.is_alive(1)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"host": "h"}', b"\xff"])
def test_a_claim_that_cannot_be_read_holds_nothing(legs: Legs, content: bytes) -> None:
    """Somebody else may take the run over."""
    legs.results.store.create("_runs/r/legs/001/claim.json", content)

    assert legs.holder(1) is None
    assert not legs.is_alive(1)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff"])
def test_a_heartbeat_that_cannot_be_read_leaves_the_claim_s_time(legs: Legs, clock: Clock, content: bytes) -> None:
    """It is a sign of nothing; a power cut may leave it empty."""
    legs.claim(1)
    legs.results.store.create("_runs/r/legs/001/heartbeat.json", content)
    clock.move(31)

    assert not legs.is_alive(1)


def test_a_leg_ends_with_its_receipt(legs: Legs) -> None:
    """Written once, and known by the digest of what stands."""
    legs.claim(1)
    before = (legs.receipt(1), legs.receipt_digest(1))

    legs.write_receipt(1, {"ended_by": "complete"})

    assert before == (None, None)
    assert legs.receipt(1) == {"ended_by": "complete"}
    assert len(legs.receipt_digest(1) or "") == 64
    with pytest.raises(NameTaken):
        legs.write_receipt(1, {"ended_by": "killed"})


def test_a_leg_is_active_from_its_claim_to_its_receipt(legs: Legs) -> None:
    """This process lives, so a leg that it claimed does, until it has ended."""
    before = legs.active_claim()
    legs.claim(1)
    during = legs.active_claim()
    legs.write_receipt(1, {"ended_by": "complete"})

    assert before is None
    assert during == legs.holder(1)
    assert legs.active_claim() is None


def test_receipts_form_a_chain(legs: Legs) -> None:
    """Each names the digest of the one before, so none can be exchanged unseen."""
    legs.write_receipt(1, {"ended_by": "quota"})
    legs.write_receipt(2, {"ended_by": "complete", "previous_receipt_sha256": legs.receipt_digest(1)})

    last = legs.receipt(2) or {}

    assert last["previous_receipt_sha256"] == legs.receipt_digest(1)
    assert legs.receipt_digest(1) != legs.receipt_digest(2)
