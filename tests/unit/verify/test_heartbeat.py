"""A leg gives a sign of life every ten seconds, hears who asks it to stop, and begins nothing that it cannot write."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from proofsweep.config.threads import StopSwitch, background_thread
from proofsweep.domain.errors import ResultsError, RunMustStop
from proofsweep.store import layout
from proofsweep.store.legs import Legs, ask_to_stop
from proofsweep.store.objects import FolderStore, json_bytes
from proofsweep.store.parts import Results
from proofsweep.verify.leg import Heartbeat

from ...worlds.ended_runs import plan_of_run
from ...worlds.waiting import wait_for

NOW = datetime(2026, 11, 20, tzinfo=UTC)


class CountingStore(FolderStore):
    """A store that counts the heartbeats written to it, and what is read of requests to stop."""

    heartbeats = reads = 0

    def read(self, name: str) -> bytes | None:
        self.reads += "/stop-" in name
        return super().read(name)

    def replace(self, name: str, content: bytes) -> None:
        super().replace(name, content)
        self.heartbeats += name == layout.heartbeat_name(PLAN.run_id, 1)


PLAN = plan_of_run("20261120T120000Z_000aa")


@dataclass
class Leg:
    """A leg whose flush takes its time, on a clock that a test reads."""

    store: CountingStore
    stop: StopSwitch = field(default_factory=StopSwitch)
    seconds: float = 0.0  # what a flush takes
    now: float = 100.0
    error: ResultsError | None = None
    during: Callable[[], object] = lambda: None

    def __post_init__(self) -> None:
        self.results = Results(self.store)
        self.results.write_plan(PLAN)
        self.legs = Legs(self.results, PLAN, lambda: NOW + timedelta(seconds=self.now))
        self.heartbeat = Heartbeat(
            held=self.legs.begin({}),
            flush=self.flush,
            budget=SimpleNamespace(stop_at_closing=lambda: None),  # type: ignore[arg-type]  # all that it asks for
            stop=self.stop,
            store_outage_seconds=20.0,
            uptime=lambda: self.now,
        )

    @property
    def ended_by(self) -> str | None:
        return None if self.stop.reason is None else self.stop.reason.ended_by

    def end(self, ended_by: str) -> None:
        """Write its receipt, as its own process or another one does."""
        self.store.create(layout.receipt_name(PLAN.run_id, 1), json_bytes({"ended_by": ended_by}))

    def flush(self) -> None:
        self.now += self.seconds
        self.during()
        if self.error is not None:
            raise self.error


class Over(threading.Event):
    """The end of the work, which comes with the third wait for it; no wait takes time."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        if len(self.waits) == 3:
            self.set()
        return self.is_set()


@pytest.fixture
def leg(tmp_path: Path) -> Leg:
    return Leg(CountingStore(tmp_path))


@pytest.mark.parametrize(
    ("jump", "seconds", "writes", "expected"),
    [
        (0.0, 1.0, 9, 0),
        (0.0, 1.0, 11, 1),
        (0.0, 1.0, 31, 3),
        (0.0, 6.0, 5, 2),
        (-3_600.0, 0.0, 1, 1),
        (3_600.0, 0.0, 1, 1),
    ],
)
def test_a_heartbeat_is_due_by_the_clock(leg: Leg, jump: float, seconds: float, writes: int, expected: int) -> None:
    """Not by the number of flushes: a slow store makes few.

    It is due after the clock was set, or a machine has slept: another one may have taken the leg over.
    """
    leg.now, leg.seconds = leg.now + jump, seconds

    for _ in range(writes):
        leg.heartbeat.write()

    assert leg.store.heartbeats == expected


def test_a_leg_that_is_settled_stays_alive(leg: Leg) -> None:
    """The parts of a long run take minutes. Its own receipt, which comes before the end, stops nothing."""
    over = threading.Event()
    leg.end("complete")
    leg.error = ResultsError("The journal is complete.")
    keeper = threading.Thread(target=leg.heartbeat.send_heartbeats, args=(over,))
    leg.now += 10.0
    keeper.start()
    wait_for(lambda: leg.store.heartbeats == 1)
    over.set()
    keeper.join(10.0)

    assert not keeper.is_alive()
    assert leg.stop.reason is None


def test_a_leg_that_was_taken_over_stops_with_its_next_heartbeat(leg: Leg) -> None:
    leg.end("killed")
    leg.now += 10.0

    leg.heartbeat.write()

    assert leg.ended_by == "error"


def test_a_leg_that_was_taken_over_pays_for_nothing_more(leg: Leg) -> None:
    """Its files in flight are the other process's now: they have no time to drain."""
    leg.heartbeat.abort = leg.stop.abort
    leg.heartbeat.drain_seconds = 30.0
    leg.end("killed")
    leg.now += 10.0

    leg.heartbeat.write()

    assert leg.stop.is_aborted
    assert leg.heartbeat.is_lost


@pytest.mark.parametrize(
    ("is_asked_to_stop", "store_outage_seconds", "ended_by"), [(True, 20.0, "cancelled"), (False, 0.0, "breaker")]
)
def test_it_is_not_waited_for_by_a_stopped_leg_or_for_ever(
    leg: Leg, store_outage_seconds: float, ended_by: str, *, is_asked_to_stop: bool
) -> None:
    """A person who stops the run does not want to wait, and patience has an end."""
    leg.error, leg.heartbeat.store_outage_seconds = ResultsError("It is full."), store_outage_seconds
    if is_asked_to_stop:
        leg.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))

    over = threading.Event()
    over.set()
    with background_thread("watch", leg.heartbeat.watch):
        leg.heartbeat.keep(over)

    assert leg.ended_by == ended_by
    assert not leg.heartbeat.store_is_well


def test_a_slow_write_makes_the_next_one_no_later(leg: Leg) -> None:
    """A second is one second, also where each request to a bucket takes a part of it."""
    over, leg.seconds = Over(), 0.4

    leg.heartbeat.keep(over)

    assert over.waits == [pytest.approx(0.6)] * 3


def test_a_stopped_leg_writes_again_until_its_drain_is_over(leg: Leg) -> None:
    """One write that fails at the last moment loses no answer that was paid for."""
    tries, over = list[ResultsError | None](), threading.Event()
    leg.error, leg.stop.drain_seconds = ResultsError("It is full."), 12.0
    leg.during = lambda: (tries.append(leg.error), len(tries) > 1 and setattr(leg, "error", None))
    leg.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))
    over.set()

    leg.heartbeat.keep(over)

    assert len(tries) == 2
    assert leg.heartbeat.store_is_well


@pytest.mark.parametrize(("seconds", "is_well"), [(4.0, True), (6.0, False)])
def test_nothing_begins_while_a_write_is_unanswered(leg: Leg, seconds: float, *, is_well: bool) -> None:
    """After five seconds the store counts as failing, though it has not said so."""
    said: list[bool] = []
    leg.seconds, leg.during = seconds, lambda: said.append(leg.heartbeat.store_is_well)

    leg.heartbeat.write()

    assert said == [is_well]
    assert leg.heartbeat.store_is_well


def ask(leg: Leg) -> None:
    (shown,) = leg.legs.shown()
    ask_to_stop(leg.store, shown, NOW)


@pytest.mark.parametrize(
    ("is_asked", "error", "ended_by", "aborted"),
    [
        (True, None, "cancelled", [112.0]),
        (True, ResultsError("It is full."), "cancelled", [112.0]),
        (False, None, None, []),
    ],
)
def test_files_in_flight_have_their_time_and_a_bucket_is_asked_once_in_four_seconds(
    leg: Leg, error: ResultsError | None, ended_by: str | None, aborted: list[float], *, is_asked: bool
) -> None:
    """Files are abandoned once, and their rows remain; a leg of a night makes some thousands of requests.

    A request is seen although nothing can be written: a person stops a run because its disk is full.
    """
    found: list[float] = []
    leg.error, leg.heartbeat.drain_seconds = error, 12.0
    leg.heartbeat.abort = lambda: found.append(leg.now)
    if is_asked:
        ask(leg)

    for _ in range(60):
        leg.heartbeat.write()
        leg.heartbeat.count()
        leg.now += 1.0

    assert (leg.ended_by, found) == (ended_by, aborted)
    assert is_asked or leg.store.reads == 15


def test_a_store_that_hangs_ends_the_leg_and_what_is_in_flight(leg: Leg) -> None:
    """Who counts never touches the store: neither the outage nor the drain is over too late, or never."""
    hangs, goes_on, aborted = threading.Event(), threading.Event(), list[float]()
    leg.heartbeat.drain_seconds, leg.heartbeat.abort = 12.0, lambda: aborted.append(leg.now)
    leg.during = lambda: (hangs.set(), goes_on.wait(10.0))
    writer = threading.Thread(target=leg.heartbeat.write, daemon=True)
    writer.start()
    assert hangs.wait(10.0)

    ended: list[tuple[float, str | None]] = []
    for _ in range(40):
        leg.now += 1.0
        leg.heartbeat.count()
        ended.append((leg.now, leg.ended_by))
    goes_on.set()
    writer.join(10.0)

    assert next(each for each in ended if each[1]) == (125.0, "breaker")  # slow for five seconds, then away
    assert aborted == [137.0]
    assert leg.stop.reason is not None
    assert "does not answer" in leg.stop.reason.message


@pytest.mark.parametrize("ended_by", ["cancelled", "window", "quota", "interrupted"])
def test_whatever_stops_a_leg_what_is_in_flight_has_the_same_time(leg: Leg, ended_by: str) -> None:
    aborted: list[float] = []
    leg.heartbeat.drain_seconds, leg.heartbeat.abort = 12.0, lambda: aborted.append(leg.now)
    leg.stop.pull(RunMustStop("Enough.", ended_by=ended_by))

    for _ in range(20):
        leg.heartbeat.count()
        leg.now += 1.0

    assert aborted == [112.0]
