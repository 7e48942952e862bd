"""The legs of a run: who works on which, how far it is, how it ended; and of two runs of a catalog, one makes calls."""

import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.domain.errors import RunIsActive
from proofsweep.store.legs import CatalogClaims, Legs, open_leg, progress_of
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.store.progress import LegProgress, OpenLeg, WaitsFor

NOW = datetime(2026, 11, 20, tzinfo=UTC)
PROGRESS = LegProgress(rows=5_000, finished_before=1_200, counts={"accepted": 34}, waits_for=WaitsFor.START)
A, B, C = (f"20261120T12000{number}Z_000aa" for number in range(3))


@pytest.fixture
def fresh(tmp_path: Path) -> Legs:
    return Legs(Results(FolderStore(tmp_path)), "r")


def test_legs_are_numbered_and_an_active_one_is_named(fresh: Legs) -> None:
    """The message says what shows it."""
    before = fresh.numbers()
    fresh.claim(1)

    assert (before, fresh.numbers(), fresh.run_id) == ([], [1], "r")
    assert fresh.active_error(1).message.startswith(f"Leg 1 of run r is being worked on by process {os.getpid()} on ")
    assert fresh.active_error(2).message == (
        "Leg 2 of run r is being worked on by another process; see: proofsweep status r"
    )


def test_what_an_earlier_receipt_says_of_rows_is_read(fresh: Legs) -> None:
    """The last leg with a receipt counts; what is no row is ignored."""
    fresh.write_receipt(1, {"in_doubt": [1]})
    fresh.write_receipt(2, {"in_doubt": [2, "x"]})

    assert [fresh.in_doubt_before(leg) for leg in (1, 2, 4)] == [frozenset(), frozenset({1}), frozenset({2})]


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


@pytest.fixture
def results(tmp_path: Path) -> Results:
    results = Results(FolderStore(tmp_path))
    Legs(results, A).claim(1)
    return results


@pytest.fixture
def claims(results: Results) -> CatalogClaims:
    """The claims on a catalog that nobody has claimed."""
    return CatalogClaims(results, "beta", "/music")


def end(results: Results, run_id: str, leg: int = 1) -> None:
    Legs(results, run_id).write_receipt(leg, {"ended_by": "complete"})


def test_a_live_leg_keeps_other_runs_out(results: Results, claims: CatalogClaims) -> None:
    """The message names the run and the process, and what shows it."""
    claims.claim(A, 1)
    Legs(results, B).claim(1)

    for attempt in (claims.last_inactive, lambda: claims.claim(B, 1)):
        with pytest.raises(RunIsActive, match=rf"run {A} .* process \d+ on .*; see: proofsweep status {A}"):
            attempt()


def test_a_leg_that_ended_or_was_released_keeps_nobody_out(results: Results, claims: CatalogClaims) -> None:
    """Also its own run may claim again, with the leg that could not begin before."""
    claims.claim(A, 1)
    claims.claim(A, 1)
    end(results, A)

    Legs(results, B).claim(1)
    claims.claim(B, 1)
    Legs(results, B).release(1)

    assert claims.last_inactive() == f"{claims._folder}/000000003.json"
    assert results.store.names(claims._folder) == [claims.last_inactive()]


def test_a_run_that_was_planned_before_anothers_leg_is_too_late(results: Results, claims: CatalogClaims) -> None:
    """The other one has ended, and may have sent the same files."""
    before = claims.last_inactive()
    claims.claim(A, 1, before)
    end(results, A)
    Legs(results, B).claim(1)

    with pytest.raises(RunIsActive, match=f"Run {A} of this catalog began before"):
        claims.claim(B, 1, before)
    claims.claim(B, 1, claims.last_inactive())


def test_catalogs_and_environments_do_not_meet(results: Results, claims: CatalogClaims) -> None:
    """Each has its own claims."""
    claims.claim(A, 1)

    assert CatalogClaims(results, "beta", "/other").last_inactive() == ""
    assert CatalogClaims(results, "production", "/music").last_inactive() == ""


class SlowStore(FolderStore):
    """A store whose process sleeps before each claim on a catalog, while other runs come and go."""

    def create(self, name: str, content: bytes) -> None:
        """Let run B work and end, and run C begin, before this claim is written."""
        if "/000000002.json" in name:
            others = Results(FolderStore(Path(self.url)))
            claims = CatalogClaims(others, "beta", "/music")
            Legs(others, B).claim(1)
            claims.claim(B, 1)
            end(others, B)
            Legs(others, C).claim(1)
            claims.claim(C, 1)
        super().create(name, content)


def test_a_process_that_slept_before_its_claim_does_not_join_in(results: Results, claims: CatalogClaims) -> None:
    """The claim that it would have made second is gone by then, so its name is free; the last claim counts."""
    claims.claim(A, 1)
    end(results, A)
    slow = Results(SlowStore(Path(results.store.url)))
    run = "20261120T120009Z_000aa"
    Legs(slow, run).claim(1)

    with pytest.raises(RunIsActive, match=f"run {C}"):
        CatalogClaims(slow, "beta", "/music").claim(run, 1)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"run_id": "x", "leg": "y"}'])
def test_a_claim_that_cannot_be_read_keeps_nobody_out(claims: CatalogClaims, content: bytes) -> None:
    """A catalog must not be locked for ever."""
    claims.results.store.create(f"{claims._folder}/000000001.json", content)

    claims.claim(A, 1)
