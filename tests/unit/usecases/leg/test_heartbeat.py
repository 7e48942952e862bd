"""A leg gives a sign of life every ten seconds, and begins nothing that it could not write down."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.errors import ResultsError, RunMustStop
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.results import Results
from proofsweep.storage.results.stores import FolderStore
from proofsweep.usecases.leg.heartbeat import Heartbeat


@dataclass
class SlowJournal:
    """A journal whose flush takes its time, on a clock that a test reads."""

    seconds: float = 0.0
    now: float = 100.0
    trouble: ResultsError | None = None

    def flush(self) -> None:
        """Take the time, and fail if there is trouble."""
        self.now += self.seconds
        if self.trouble is not None:
            raise self.trouble


@dataclass
class LegContext:
    """What of a desk concerns its pulse."""

    journal: SlowJournal
    leg: int = 1
    stop: StopSwitch = field(default_factory=StopSwitch)
    may_begin: threading.Event = field(default_factory=threading.Event)
    store_patience_seconds: float = 20.0
    note_aside: Callable[[list[Any]], None] = lambda _exchanges: None


@pytest.fixture
def desk() -> LegContext:
    """Give a desk at which work may begin."""
    desk = LegContext(SlowJournal())
    desk.may_begin.set()
    return desk


@pytest.fixture
def pulse(desk: Any, tmp_path: Path) -> Heartbeat:  # noqa: ANN401 - it is no whole desk
    """Give the pulse of a leg that was claimed just now."""
    legs = Legs(Results(FolderStore(tmp_path)), "r", lambda: datetime.now(UTC), lambda: desk.journal.now)
    legs.claim(1)
    return Heartbeat(desk, legs, [])


def beats(pulse: Heartbeat) -> int:
    """Count the beats in the store."""
    return sum("/beat-" in name for name in pulse.legs.results.store.names("_runs/r/legs/001"))


@pytest.mark.parametrize(("seconds", "flushes", "expected"), [(1.0, 9, 0), (1.0, 11, 1), (1.0, 31, 3), (6.0, 5, 2)])
def test_beats_come_by_the_clock(
    pulse: Heartbeat, desk: LegContext, seconds: float, flushes: int, expected: int
) -> None:
    """Not by the number of flushes, which a slow store makes few."""
    desk.journal.seconds = seconds

    for _ in range(flushes):
        pulse.write_down()

    assert beats(pulse) == expected


def test_a_store_that_cannot_be_flushed_is_still_given_signs(pulse: Heartbeat, desk: LegContext) -> None:
    """While it fails in parts, the leg is alive all the same."""
    desk.journal.seconds, desk.journal.trouble = 4.0, ResultsError("It is full.")

    for _ in range(6):
        with pytest.raises(ResultsError):
            pulse.write_down()

    assert beats(pulse) == 1


def test_a_leg_that_was_taken_over_hears_of_it_with_its_next_beat(pulse: Heartbeat, desk: LegContext) -> None:
    """It stops, and says why."""
    pulse.legs.write_receipt(1, {"ended_by": "killed"})
    desk.journal.now += 10.0

    pulse.write_down()

    assert desk.stop.reason is not None
    assert desk.stop.reason.ended_by == "error"


def test_a_store_that_fails_when_the_work_is_over_is_waited_for(pulse: Heartbeat, desk: LegContext) -> None:
    """What was finished last is written down when the store is well again, and the leg ends as it would have."""
    desk.journal.trouble = ResultsError("It is full.")
    threading.Timer(0.5, setattr, (desk.journal, "trouble", None)).start()

    pulse.beat_until(ended())

    assert desk.stop.reason is None
    assert desk.journal.trouble is None


@pytest.mark.parametrize(
    ("asked_to_stop", "patience_seconds", "ended_by"), [(True, 20.0, "cancelled"), (False, 0.0, "breaker")]
)
def test_it_is_not_waited_for_in_a_hurry_or_for_ever(
    pulse: Heartbeat, desk: LegContext, asked_to_stop: bool, patience_seconds: float, ended_by: str
) -> None:
    """Whoever asked the run to stop has no use for patience, and patience has an end."""
    desk.journal.trouble, desk.store_patience_seconds = ResultsError("It is full."), patience_seconds
    if asked_to_stop:
        desk.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))

    pulse.beat_until(ended())

    assert desk.stop.reason is not None
    assert desk.stop.reason.ended_by == ended_by
    assert not desk.may_begin.is_set()


def ended() -> threading.Event:
    """Say that the work is over."""
    over = threading.Event()
    over.set()
    return over
