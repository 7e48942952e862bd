"""One process holds a lease at a time, and it is known whether it still does."""

import json
import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from proofsweep.domain.errors import NameTaken, ResultsError, RunIsActive
from proofsweep.domain.runs import STALE_SECONDS
from proofsweep.store import layout
from proofsweep.store.lease import Lease, sole_process
from proofsweep.store.objects import FolderStore, hold, is_let_go, is_local
from proofsweep.store.parts import Results


@dataclass(slots=True)
class Clock:
    """A host's two clocks, which a test moves; something may happen while one waits."""

    now: datetime = field(default_factory=lambda: datetime(2026, 11, 20, 12, 0, tzinfo=UTC))
    uptime_seconds: float = 100.0
    meanwhile: Callable[[], None] = lambda: None

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.uptime_seconds += seconds
        self.jump(seconds)

    def jump(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def rest(self, seconds: float) -> None:
        self.move(seconds)
        self.meanwhile()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lease(tmp_path: Path, clock: Clock) -> Lease:
    """The lease of a thing that nobody has claimed yet."""
    return lease_of(FolderStore(tmp_path), clock)


def lease_of(store: FolderStore, clock: Clock) -> Lease:
    return Lease(Results(store), "r", clock, lambda: clock.uptime_seconds, clock.rest)


def claim_of(lease: Lease, **changes: object) -> None:
    """Write a claim of leg 1 that is this process's own but for some changes."""
    lease.claim(9)
    claim = json.loads(lease.results.store.read("_runs/r/legs/009/claim.json") or b"")
    lease.results.store.create("_runs/r/legs/001/claim.json", json.dumps(claim | changes).encode())


def test_a_leg_is_claimed_once(lease: Lease) -> None:
    """The second process gets an error, and the first stays the holder."""
    lease.claim(1)

    with pytest.raises(RunIsActive):
        lease.claim(1)

    holder = lease.holder(1)
    assert holder is not None
    assert holder.pid == os.getpid()
    assert lease.last() == 1


def test_two_claims_of_one_process_are_not_equal(lease: Lease) -> None:
    """In two containers the process number, its start and the time may be the same."""
    lease.claim(1)
    lease.claim(2)

    assert lease.holder(1) != lease.holder(2)


def test_a_leg_is_superseded_by_the_next_claim_or_by_its_receipt(lease: Lease) -> None:
    """Its process stops when it sees that, since another one does the same rows."""
    for leg in (1, 2, 3):
        lease.claim(leg)
    lease.write_receipt(3, {"ended_by": "killed"})

    assert [lease.is_superseded(leg) for leg in (2, 3)] == [True, True]
    lease.claim(4)
    assert not lease.is_superseded(4)


def test_a_leg_that_ends_while_it_is_listened_to_is_not_active(lease: Lease, clock: Clock) -> None:
    """The next one may begin."""
    claim_of(lease, host="another-host", boot="another-boot")
    clock.jump(3_600)
    clock.meanwhile = lambda: lease.write_receipt(1, {"ended_by": "quota"}) if clock.uptime_seconds == 105 else None

    assert not lease.is_active(1)
    assert clock.uptime_seconds == 105


def test_the_last_beat_counts(lease: Lease, clock: Clock) -> None:
    """A leg overwrites its one heartbeat, however long it works."""
    lease.claim(1)
    for _ in range(12):
        clock.move(10)
        lease.beat(1)
    clock.move(30)
    alive = lease.is_alive(1)
    clock.move(1)

    assert alive
    assert not lease.is_alive(1)
    assert lease.results.store.names("_runs/r/legs/001") == [
        "_runs/r/legs/001/claim.json",
        "_runs/r/legs/001/heartbeat.json",
    ]


def test_a_leg_of_a_process_that_is_gone_is_dead_at_once(lease: Lease) -> None:
    """On the same host, its last heartbeat need not become stale first."""
    process = multiprocessing.get_context("spawn").Process(target=int)
    process.start()
    process.join()

    claim_of(lease, pid=process.pid)

    assert not lease.is_alive(1)


def test_a_number_that_another_process_bears_now_is_not_the_holder(lease: Lease) -> None:
    """Process numbers are used again; their starts differ."""
    claim_of(lease, process_started="1")

    assert not lease.is_alive(1)


ELSEWHERE = ({"host": "another-host"}, {"boot": "another-boot"}, {"pid_namespace": "pid:[1]"})
"""What a claim says of a process whose number means nothing here."""


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_a_term_elsewhere_is_judged_by_its_heartbeat_alone(
    lease: Lease, clock: Clock, elsewhere: dict[str, str]
) -> None:
    """Two containers on one machine may share a host name, and each has a process 1."""
    claim_of(lease, pid=2**22 + 1, **elsewhere)
    alive = lease.is_alive(1)
    clock.move(31)

    assert alive
    assert not lease.is_alive(1)


@pytest.mark.parametrize("hours", [-3, 3])
def test_a_clock_that_jumps_makes_no_leg_of_this_host_stale(lease: Lease, clock: Clock, hours: int) -> None:
    """What counts is the monotonic clock of their boot; nor does the jump keep a dead one alive."""
    lease.claim(1)
    lease.beat(1)
    clock.jump(hours * 3_600)
    alive = lease.is_alive(1)
    clock.move(31)

    assert alive
    assert not lease.is_active(1)


@pytest.mark.parametrize("seconds", [-3_600, 0, 3_600])
@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_a_live_leg_elsewhere_is_heard(lease: Lease, clock: Clock, elsewhere: dict[str, str], seconds: int) -> None:
    """Whatever the clocks say: its next heartbeat tells, and nobody takes it over."""
    claim_of(lease, **elsewhere)
    clock.jump(seconds)
    clock.meanwhile = lambda: lease.beat(1) if clock.uptime_seconds >= 110 else None

    assert lease.is_active(1)
    assert clock.uptime_seconds == 110


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_a_leg_elsewhere_that_was_just_killed_is_taken_over(
    lease: Lease, clock: Clock, elsewhere: dict[str, str]
) -> None:
    """Its heartbeat is fresh, but no other comes: who is waiting need not come again. The wait is bounded."""
    claim_of(lease, **elsewhere)
    clock.move(3)

    assert lease.is_alive(1)
    assert not lease.is_active(1)
    assert clock.uptime_seconds <= 103 + STALE_SECONDS + 1


def work_until_killed(folder: Path, beaten: Event) -> None:
    """Claim a lease in another process, beat once, and hang."""
    lease = Lease(Results(FolderStore(folder)), "r")
    lease.claim(1)
    lease.beat(1)
    beaten.set()
    time.sleep(600)


@pytest.mark.skipif(not is_local(Path.cwd()), reason="needs a file system whose locks are the kernel's")
def test_a_process_of_another_container_is_known_to_be_dead_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its number says nothing here, but it held its claim locked: alive while it lives, and dead when it is killed."""
    spawning = multiprocessing.get_context("spawn")
    beaten = spawning.Event()
    process = spawning.Process(target=work_until_killed, args=(tmp_path, beaten))
    monkeypatch.setattr("proofsweep.store.lease._pid_namespace", lambda: "pid:[1]")
    waited: list[float] = []
    lease = Lease(Results(FolderStore(tmp_path)), "r", rest=waited.append)
    process.start()
    assert beaten.wait(60)
    alive = lease.is_active(1)

    process.kill()
    process.join()

    assert alive
    assert lease.last_inactive() == 1
    assert waited == []


def test_a_claim_is_held_from_its_first_heartbeat_to_its_receipt(lease: Lease) -> None:
    """What is let go without a receipt is a dead process's; a term that has ended holds no file open."""
    lease.claim(1)
    claim = Path(lease.results.store.url) / layout.claim_name(lease.name, 1)
    before = is_let_go(claim)
    lease.beat(1)
    during = (hold(claim), lease.is_active(1))
    lease.write_receipt(1, {})

    assert (before, during) == (is_local(claim), (is_local(claim), True))
    assert is_let_go(claim) == is_local(claim)


def test_a_claim_of_a_later_release_is_a_claim(lease: Lease) -> None:
    """What else it may say is ignored."""
    claim_of(lease, mood="good")

    assert lease.is_alive(1)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"host": "h"}', b"\xff"])
def test_a_claim_that_cannot_be_read_holds_nothing(lease: Lease, content: bytes) -> None:
    """Somebody else may take the run over."""
    lease.results.store.create("_runs/r/legs/001/claim.json", content)

    assert lease.holder(1) is None
    assert not lease.is_alive(1)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff"])
def test_a_heartbeat_that_cannot_be_read_leaves_the_claim_s_time(lease: Lease, clock: Clock, content: bytes) -> None:
    """It is a sign of nothing; a power cut may leave it empty."""
    lease.claim(1)
    lease.results.store.create("_runs/r/legs/001/heartbeat.json", content)
    clock.move(31)

    assert not lease.is_alive(1)


def test_who_comes_while_a_lease_is_held_is_told_by_whom(lease: Lease) -> None:
    """The lease says what that means; a term that is over is taken over."""
    busy = replace(lease, busy="The shop is kept by {holder}.")
    assert busy.last_inactive() == 0
    busy.claim(1)

    with pytest.raises(RunIsActive, match=rf"The shop is kept by process {os.getpid()} on "):
        busy.last_inactive()
    with pytest.raises(RunIsActive, match="The shop is kept by process"):
        busy.claim(1)
    busy.write_receipt(1, {})
    assert busy.last_inactive() == 1


def test_a_leg_ends_with_its_receipt(lease: Lease) -> None:
    """Written once."""
    lease.claim(1)
    before = lease.receipt(1)

    lease.write_receipt(1, {"ended_by": "complete"})

    assert before is None
    assert lease.receipt(1) == {"ended_by": "complete"}
    with pytest.raises(NameTaken):
        lease.write_receipt(1, {"ended_by": "killed"})


@pytest.mark.parametrize("content", [b"[]", b"null", b"{"])
def test_a_receipt_that_is_no_object_is_damaged(lease: Lease, content: bytes) -> None:
    """It is not taken for none: the leg would seem to last."""
    lease.results.store.create(layout.receipt_name(lease.name, 1), content)

    with pytest.raises(ResultsError, match="it is not whole"):
        lease.receipt(1)


@pytest.fixture
def erasures(tmp_path: Path) -> Lease:
    return Lease(Results(FolderStore(tmp_path)), "erasures", busy="It is busy.")


def test_a_second_process_is_refused(erasures: Lease) -> None:
    """It would take the journal of the first one for that of a dead process."""
    with sole_process(erasures), pytest.raises(RunIsActive, match="busy"), sole_process(erasures):
        pass

    with sole_process(erasures):
        pass
