"""Of two sweeps of one catalog, one spends calls; the other is refused, and leaves nothing to do behind.

There is a race here; `make soak` runs as many as of two resumes, three of four on results in a folder.
"""

import os
import shutil
import signal
from contextlib import suppress

import pytest

from ..worlds.foreign_world import ForeignWorld
from .bare_runner import Runner

RACES = int(os.environ.get("PROOFSWEEP_SOAK_RACES", "1"))
PLACES = {"folder": RACES} if RACES == 1 else {"folder": RACES * 3 // 4, "bucket": RACES // 4}
ROWS = 40
WORKERS = 4


@pytest.fixture(params=["folder"])
def world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ForeignWorld:
    """A world with its results in a folder or in a bucket; few files are in flight."""
    world: ForeignWorld = request.getfixturevalue("bare_world" if request.param == "folder" else "bucket_world")
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", str(WORKERS))
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "400")
    world.service.answer_late(0.02)
    return world


def begin_together(racers: tuple[Runner, Runner], *jobs: str) -> list[int]:
    """Let each racer do its job at the same moment; give their exit codes, sorted."""
    for racer, job in zip(racers, jobs, strict=True):
        racer.begin(job)
    return sorted(racer.exit_code() for racer in racers)


def unfinished(world: ForeignWorld) -> list[str]:
    return [each["last_run"] for each in world.told("status")["catalogs"] if each["remaining"]]


def check_once(world: ForeignWorld) -> None:
    """See that one run has all rows, that nothing was sent twice, and that nothing is left to do."""
    rows = [row["manifest_row"] for row in world.rows()]
    assert rows == list(range(ROWS))
    assert len({row["run_id"] for row in world.rows()}) == 1
    assert world.service.received["verify"] == ROWS
    assert unfinished(world) == []


@pytest.mark.parametrize("world", PLACES, indirect=True)
@pytest.mark.timeout(1_800)
def test_of_two_sweeps_that_begin_together_one_works(world: ForeignWorld) -> None:
    """They find no run, or one finds the plan of the other; each file is sent once in each race.

    One that finds the plan, and takes it up when the other has just ended, has a leg without a row.
    """
    racers, whole = (Runner(), Runner()), world.catalog(*["valid"] * ROWS)

    for race in range(PLACES["folder" if world.bucket is None else "bucket"]):
        catalog = shutil.copy(whole, world.folder / f"race-{race}.csv")
        verified = world.service.received["verify"]

        codes = begin_together(racers, f"sweep {catalog}", f"sweep {catalog}")

        assert codes in ([0, 9], [0, 0]), race
        assert world.service.received["verify"] - verified == ROWS
        if codes == [0, 0]:
            last = world.told("status", world.runs[-1])
            assert (last["leg"], last["accepted"], last["this_leg"]["accepted"]) == (2, ROWS, 0)
    assert unfinished(world) == []


def test_of_two_runs_that_were_planned_together_one_works(world: ForeignWorld) -> None:
    """Each has planned every file before the other has begun; the later one is superseded, also if it is much later."""
    racers = (Runner(), Runner())
    catalog = world.catalog(*["valid"] * ROWS)
    assert [racer.do(f"plan {catalog}") for racer in racers] == [0, 0]
    first, second = world.runs

    codes = begin_together(racers, f"leg {first}", f"leg {second}")

    loser = next(run for run in (first, second) if run not in {row["run_id"] for row in world.rows()})
    assert codes == [0, 9]
    assert world.told("status", loser)["ended_by"] == "superseded"
    check_once(world)


def test_after_a_race_whose_winner_was_killed_its_run_goes_on(world: ForeignWorld) -> None:
    """The plan of the loser is not taken up: its files were sent in part."""
    racers = (Runner(), Runner())
    catalog = world.catalog(*["valid"] * ROWS)
    assert [racer.do(f"plan {catalog}") for racer in racers] == [0, 0]
    first, second = world.runs
    world.service.answer_late(1.0)
    process = racers[0].begin(f"leg {first}")
    world.wait_for(lambda: world.service.received["verify"] >= WORKERS)

    refused = racers[1].do(f"leg {second}")
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    racers[0].exit_code()
    world.service.answer_late(0.02)
    code = racers[1].do(f"sweep {catalog}")

    assert (refused, code) == (9, 0)
    assert {row["run_id"] for row in world.rows()} == {first}
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
