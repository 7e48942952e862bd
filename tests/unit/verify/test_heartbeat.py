"""A leg gives a sign of life every ten seconds, and begins nothing that it could not write down."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError, RunMustStop
from proofsweep.store.journal import Journal
from proofsweep.store.legs import Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.store.progress import LegProgress
from proofsweep.verify.audit_trail import AuditTrail
from proofsweep.verify.budget import BudgetGuard
from proofsweep.verify.session import Heartbeat

from ...worlds.waiting import wait_for

NOW = datetime(2026, 11, 20, tzinfo=UTC)


@dataclass
class WallClock:
    """A clock that a test sets."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        """Tell the time."""
        return self.now


@dataclass
class SlowJournal(Journal):
    """A journal whose flush takes its time, on a clock that a test reads."""

    seconds: float = 0.0
    now: float = 100.0
    error: ResultsError | None = None
    during: Callable[[], object] = field(default=lambda: None)

    def flush(self) -> None:
        """Take the time, and fail if there is an error."""
        self.now += self.seconds
        self.during()
        if self.error is not None:
            raise self.error


class CountingStore(FolderStore):
    """A store that counts the heartbeats written to it."""

    heartbeats = 0

    def replace(self, name: str, content: bytes) -> None:
        """Count it."""
        super().replace(name, content)
        self.heartbeats += name == "_runs/r/legs/001/heartbeat.json"


class OpenWindow(BudgetGuard):
    """A budget whose window never closes."""

    def __init__(self) -> None:
        """Need nothing."""

    def stop_at_closing(self) -> None:
        """Stay open."""


@dataclass
class Leg:
    """A claimed leg with its heartbeat."""

    journal: SlowJournal
    stop: StopSwitch
    heartbeat: Heartbeat
    legs: Legs
    store: CountingStore
    clock: WallClock


@pytest.fixture
def leg(tmp_path: Path) -> Leg:
    """A leg that was claimed just now."""
    store = CountingStore(tmp_path)
    results = Results(store)
    journal = SlowJournal(results, "r", 1, "w")
    clock = WallClock()
    legs = Legs(results, "r", clock, lambda: journal.now)
    legs.claim(1)
    budget, stop = OpenWindow(), StopSwitch()
    heartbeat = Heartbeat(
        legs=legs,
        leg=1,
        journal=journal,
        trail=AuditTrail(journal, budget, []),
        budget=budget,
        stop=stop,
        store_outage_seconds=20.0,
    )
    return Leg(journal, stop, heartbeat, legs, store, clock)


def ended() -> threading.Event:
    """Return a sentence that the work is over."""
    over = threading.Event()
    over.set()
    return over


@pytest.mark.parametrize(("seconds", "writes", "expected"), [(1.0, 9, 0), (1.0, 11, 1), (1.0, 31, 3), (6.0, 5, 2)])
def test_a_heartbeat_is_due_by_the_clock(leg: Leg, seconds: float, writes: int, expected: int) -> None:
    """Not by the number of flushes: a slow store makes few."""
    leg.journal.seconds = seconds

    for _ in range(writes):
        leg.heartbeat.write()

    assert leg.store.heartbeats == expected


def test_a_store_that_cannot_be_flushed_still_gets_a_heartbeat(leg: Leg) -> None:
    """While it fails in parts, the leg is alive."""
    leg.journal.seconds, leg.journal.error = 4.0, ResultsError("It is full.")

    for _ in range(6):
        with pytest.raises(ResultsError):
            leg.heartbeat.write()

    assert leg.store.heartbeats == 1


def test_a_heartbeat_is_due_after_a_machine_has_slept(leg: Leg) -> None:
    """Its monotonic clock may stand meanwhile: another machine may have taken the leg over."""
    leg.clock.now += timedelta(seconds=40)

    leg.heartbeat.write()

    assert leg.store.heartbeats == 1


def test_a_leg_that_is_settled_stays_alive(leg: Leg) -> None:
    """The parts of a long run take minutes. Its own receipt, which comes before the end, stops nothing."""
    over = threading.Event()
    leg.legs.write_receipt(1, {"ended_by": "complete"})
    leg.journal.error = ResultsError("The journal is complete.")
    keeper = threading.Thread(target=leg.heartbeat.send_heartbeats, args=(over,))
    leg.journal.now += 10.0
    keeper.start()
    wait_for(lambda: leg.store.heartbeats == 1)
    over.set()
    keeper.join(10.0)

    assert not keeper.is_alive()
    assert leg.stop.reason is None


@pytest.mark.parametrize("how", ["claim", "receipt"])
def test_a_leg_that_was_taken_over_stops_with_its_next_heartbeat(leg: Leg, how: str) -> None:
    """It says why: the next leg was claimed, or an older version has written the receipt first."""
    if how == "claim":
        leg.legs.claim(2)
    else:
        leg.legs.write_receipt(1, {"ended_by": "killed"})
    leg.journal.now += 10.0

    leg.heartbeat.write()

    assert leg.stop.reason is not None
    assert leg.stop.reason.ended_by == "error"


def test_a_store_that_fails_when_the_work_is_over_is_waited_for(leg: Leg) -> None:
    """What was finished last is written down when the store is well again, and the leg ends as it would have."""
    leg.journal.error = ResultsError("It is full.")
    threading.Timer(0.5, setattr, (leg.journal, "error", None)).start()

    leg.heartbeat.keep(ended())

    assert leg.stop.reason is None
    assert leg.heartbeat.store_is_well


@pytest.mark.parametrize(
    ("is_asked_to_stop", "store_outage_seconds", "ended_by"), [(True, 20.0, "cancelled"), (False, 0.0, "breaker")]
)
def test_it_is_not_waited_for_by_a_stopped_leg_or_for_ever(
    leg: Leg, store_outage_seconds: float, ended_by: str, *, is_asked_to_stop: bool
) -> None:
    """A person who stops the run does not want to wait, and patience has an end."""
    leg.journal.error, leg.heartbeat.store_outage_seconds = ResultsError("It is full."), store_outage_seconds
    if is_asked_to_stop:
        leg.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))

    leg.heartbeat.keep(ended())

    assert leg.stop.reason is not None
    assert leg.stop.reason.ended_by == ended_by
    assert not leg.heartbeat.store_is_well


@pytest.mark.parametrize(("seconds", "is_well"), [(4.0, True), (6.0, False)])
def test_nothing_begins_while_a_write_is_unanswered(
    leg: Leg, monkeypatch: pytest.MonkeyPatch, seconds: float, *, is_well: bool
) -> None:
    """After five seconds the store counts as failing, though it has not said so."""
    now = [50.0]
    monkeypatch.setattr("proofsweep.verify.session.time.monotonic", lambda: now[0])
    said: list[bool] = []

    def wait() -> None:
        now[0] += seconds
        said.append(leg.heartbeat.store_is_well)

    leg.journal.during = wait
    leg.heartbeat.write()

    assert said == [is_well]
    assert leg.heartbeat.store_is_well


def test_a_heartbeat_tells_how_far_the_leg_is(leg: Leg) -> None:
    """Any process that reaches the store can read it."""
    leg.heartbeat.progress = lambda: LegProgress(rows=5, counts={"accepted": 2})
    leg.clock.now += timedelta(seconds=11)

    leg.heartbeat.write()

    found = json.loads(leg.store.read("_runs/r/legs/001/heartbeat.json") or b"")
    assert found["progress"]["counts"] == {"accepted": 2}


def test_a_heartbeat_tells_at_once_that_the_leg_stops(leg: Leg) -> None:
    """A person who asked for it sees that it was heard; once is enough."""
    leg.stop.pull(RunMustStop("It was asked to.", ended_by=EndedBy.CANCELLED))

    for _ in range(5):
        leg.heartbeat.write()

    assert leg.store.heartbeats == 1


def test_a_request_to_stop_is_seen_although_nothing_can_be_written(leg: Leg) -> None:
    """A person stops a run because its disk is full."""
    leg.journal.error = ResultsError("It is full.")
    leg.heartbeat.look_for_stop = lambda: leg.stop.pull(RunMustStop("Asked.", ended_by=EndedBy.CANCELLED))

    with pytest.raises(ResultsError):
        leg.heartbeat.write()

    assert leg.stop.reason is not None


def test_a_leg_that_is_settled_says_so(leg: Leg) -> None:
    """Its heartbeats tell that only the last rows are being written."""
    leg.heartbeat.send_heartbeats(ended())

    assert leg.heartbeat.is_settling
