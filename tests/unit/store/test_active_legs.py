"""Whoever reaches the store sees which leg is worked on, where, and how far it is."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.store.legs import Legs, open_leg, progress_of
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.store.progress import LegProgress, OpenLeg, WaitsFor

NOW = datetime(2026, 11, 20, tzinfo=UTC)
PROGRESS = LegProgress(rows=5_000, finished_before=1_200, counts={"accepted": 34}, waits_for=WaitsFor.START)


@dataclass
class Clock:
    """Both clocks, as a test sets them."""

    seconds: float = 0.0

    def __call__(self) -> datetime:
        return NOW + timedelta(seconds=self.seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def legs(tmp_path: Path, clock: Clock) -> Legs:
    legs = Legs(Results(FolderStore(tmp_path)), "r", clock, lambda: clock.seconds)
    legs.claim(1)
    legs.write_receipt(1, {"ended_by": "cancelled"})
    return legs


def test_the_last_leg_is_seen_with_its_progress(legs: Legs) -> None:
    """By whom it is worked on, too."""
    legs = replace(legs, clock=lambda: datetime.now(UTC), uptime=Legs(legs.results, "r").uptime)
    legs.claim(2)
    legs.beat(2, PROGRESS)

    found = progress_of(legs.results, "r")

    assert found is not None
    assert (found.leg, found.is_alive, found.progress) == (2, True, PROGRESS)
    assert found.where == f"process {found.claim.pid} on {found.claim.host}"
    assert found.document()["progress"] == PROGRESS.document()


def test_a_run_that_nobody_works_on_has_none(legs: Legs) -> None:
    """It has ended, or has not begun."""
    assert progress_of(legs.results, "r") is None
    assert progress_of(legs.results, "other") is None


def test_a_leg_is_alive_before_its_first_heartbeat(legs: Legs, clock: Clock) -> None:
    """Its claim is a sign of life; how far it is, nobody knows yet."""
    legs.claim(2)
    clock.seconds += 8

    found = _open(legs, 2)

    assert (found.age_seconds, found.is_alive, found.progress) == (8.0, True, None)


@pytest.mark.parametrize(("seconds", "is_alive"), [(12, True), (30, True), (31, False), (3_600, False)])
def test_an_old_sign_of_life_says_so(legs: Legs, clock: Clock, seconds: int, *, is_alive: bool) -> None:
    """What it told last is kept: it is the best that is known."""
    legs.claim(2)
    legs.beat(2, PROGRESS)
    clock.seconds += seconds

    found = _open(legs, 2)

    assert (found.age_seconds, found.is_alive, found.progress) == (float(seconds), is_alive, PROGRESS)


def test_a_process_that_is_gone_is_not_alive(legs: Legs, monkeypatch: pytest.MonkeyPatch) -> None:
    """On its own machine nobody has to wait until its heartbeat is old."""
    legs.claim(2)
    monkeypatch.setattr("proofsweep.store.lease.is_gone", lambda _claim: True)

    assert not _open(legs, 2).is_alive


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"progress": {"rows": "many"}}', b"half a docu"])
def test_a_heartbeat_that_cannot_be_read_leaves_the_claim(legs: Legs, content: bytes) -> None:
    """A power cut may leave it empty."""
    legs.claim(2)
    legs.results.store.create("_runs/r/legs/002/heartbeat.json", content)

    found = _open(legs, 2)

    assert (found.beaten_at, found.progress) == (NOW, None)


def test_a_sign_of_life_of_another_boot_is_judged_by_the_wall_clock(legs: Legs, clock: Clock) -> None:
    """As another machine's is; one from the future shows a wrong clock."""
    legs.claim(2)
    legs.results.store.create(
        "_runs/r/legs/002/heartbeat.json",
        b'{"at": "2026-11-20T00:00:07+00:00", "uptime_seconds": 900.0, "boot": "another"}',
    )

    assert _open(legs, 2).age_seconds == 7.0
    clock.seconds = 27.0
    assert _open(legs, 2).age_seconds == 20.0


def _open(legs: Legs, number: int) -> OpenLeg:
    claim = legs.holder(number)
    assert claim is not None
    return open_leg(legs, number, claim)
