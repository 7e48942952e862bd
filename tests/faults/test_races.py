"""Of two processes that begin on one run, or on one catalog, one works; the other is refused, and leaves nothing to do.

There are four races of resumes here, and one of sweeps; `make soak` runs two hundred of each. Three of four are on
results in a folder, and one is on results in a bucket.
"""

import os
import random
import shutil
import signal
import time
from collections import Counter
from contextlib import suppress
from itertools import cycle, islice, pairwise

import pytest

from ..worlds.foreign_world import ForeignWorld
from .bare_runner import Runner

RACES = int(os.environ.get("PROOFSWEEP_SOAK_RACES", "4"))
PLACES = {"folder": RACES - RACES // 4, "bucket": RACES // 4}
SWEEPS = PLACES if "PROOFSWEEP_SOAK_RACES" in os.environ else {"folder": 1}
SITUATIONS = ("planned", "killed", "ending")
"""What two that resume find: a run without a leg, a leg that was killed, or a leg that ends just then."""
ROWS = 40
WORKERS = 4
LEG_SECONDS = ROWS / WORKERS * 2 * 0.02
"""A leg takes about so long, since each of a row's two keyed calls is answered after 20 ms."""
UNWRITTEN_SECONDS = 4.0
"""A killed process loses the work of its last second; on a busy machine a durable write may take two more."""

Racers = tuple[Runner, Runner]


@pytest.fixture(params=["folder"])
def world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ForeignWorld:
    """A world with its results in a folder or in a bucket; few files are in flight, and each keyed call is slow."""
    world: ForeignWorld = request.getfixturevalue("bare_world" if request.param == "folder" else "bucket_world")
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", str(WORKERS))
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "400")
    world.service.answer_late(0.02)
    return world


@pytest.fixture
def racers() -> Racers:
    return Runner(), Runner()


@pytest.fixture
def catalog(world: ForeignWorld) -> str:
    return world.catalog(*["valid"] * ROWS)


def race(racers: Racers, *jobs: str, lead_seconds: float = 0.0) -> list[int]:
    """Let each racer do its job, the second perhaps a moment later; give their exit codes, sorted."""
    racers[0].begin(jobs[0])
    time.sleep(lead_seconds)
    racers[1].begin(jobs[1])
    return sorted(racer.exit_code() for racer in racers)


def kill(runner: Runner, process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    runner.exit_code()


def planned(runner: Runner, world: ForeignWorld, catalog: str) -> str:
    """Plan a run; give its ID."""
    assert runner.do(f"plan {catalog}") == 0
    return world.runs[-1]


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("world", PLACES, indirect=True)
def test_one_of_two_resumes_works(world: ForeignWorld, racers: Racers, catalog: str) -> None:
    """No two legs call at the same time, no row is there twice, and only what a kill interrupted is sent again."""
    chance, happened = random.Random(20261122), Counter[str]()  # noqa: S311

    for situation in islice(cycle(SITUATIONS), PLACES["folder" if world.bucket is None else "bucket"]):
        run_id, before = planned(racers[0], world, catalog), world.service.received["verify"]

        unwritten = _kill_a_leg(world, racers[0], run_id, chance) if situation == "killed" else 0
        lead_seconds = chance.uniform(0.5, 1.5) * LEG_SECONDS if situation == "ending" else 0.0
        codes = race(racers, *[f"leg {run_id}"] * 2, lead_seconds=lead_seconds)

        happened[f"{situation}: {codes}"] += 1
        assert codes in ([0, 0], [0, 9])
        _check_rows_and_legs(world, run_id)
        assert world.service.received["verify"] - before <= ROWS + unwritten

    assert any("9" in each for each in happened), happened
    print(dict(happened))  # noqa: T201 - `make soak` shows it


def test_a_leg_that_comes_back_after_a_take_over_publishes_nothing(
    world: ForeignWorld, racers: Racers, catalog: str
) -> None:
    """Its machine was suspended for long: it loses what a kill at that moment would, and no row is there twice."""
    sleeper, successor = racers
    run_id = planned(sleeper, world, catalog)
    world.service.answer_late(0.4)
    process = sleeper.begin(f"leg {run_id}")
    world.wait_for(lambda: world.service.received["verify"] >= ROWS * 3 // 4)
    os.kill(process, signal.SIGSTOP)
    in_time = world.service.ids(before=time.monotonic() - UNWRITTEN_SECONDS, calls={"uploads", "verify"})

    world.service.answer_late(0.02)
    successor.begin(f"seize {run_id}")
    world.wait_for(lambda: world.service.received["verify"] >= ROWS * 7 // 8)
    os.kill(process, signal.SIGCONT)
    codes = (sleeper.exit_code(), successor.exit_code())

    kept = [row["request_id"] for row in world.table("exchanges") if row["request_id"]]
    assert codes == (9, 0)
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
    assert len(kept) == len(set(kept))
    assert in_time
    assert in_time - set(kept) == set()
    assert {row[f"{call}_request_id"] for row in world.rows() for call in ("uploads", "verify")} <= set(kept)


def unfinished(world: ForeignWorld) -> list[str]:
    return [each["last_run"] for each in world.told("status")["catalogs"] if each["remaining"]]


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("world", SWEEPS, indirect=True)
def test_of_two_sweeps_that_begin_together_one_works(world: ForeignWorld, racers: Racers, catalog: str) -> None:
    """They find no run, or one finds the plan of the other; each file is sent once in each race.

    One that finds the plan, and takes it up when the other has just ended, has a leg without a row.
    """
    for number in range(SWEEPS["folder" if world.bucket is None else "bucket"]):
        own = shutil.copy(catalog, world.folder / f"race-{number}.csv")
        verified = world.service.received["verify"]

        codes = race(racers, *[f"sweep {own}"] * 2)

        assert codes in ([0, 9], [0, 0]), number
        assert world.service.received["verify"] - verified == ROWS
        if codes == [0, 0]:
            last = world.told("status", world.runs[-1])
            assert (last["leg"], last["accepted"], last["this_leg"]["accepted"]) == (2, ROWS, 0)
    assert unfinished(world) == []


def test_of_two_runs_that_were_planned_together_one_works(world: ForeignWorld, racers: Racers, catalog: str) -> None:
    """Each has planned every file before the other has begun; the later one is superseded, also if it is much later."""
    first, second = (planned(racer, world, catalog) for racer in racers)

    codes = race(racers, f"leg {first}", f"leg {second}")

    rows = world.rows()
    (loser,) = {first, second} - {row["run_id"] for row in rows}
    assert codes == [0, 9]
    assert world.told("status", loser)["ended_by"] == "superseded"
    assert [row["manifest_row"] for row in rows] == list(range(ROWS))
    assert world.service.received["verify"] == ROWS
    assert unfinished(world) == []


def test_after_a_race_whose_winner_was_killed_its_run_goes_on(
    world: ForeignWorld, racers: Racers, catalog: str
) -> None:
    """The plan of the loser is not taken up: its files were sent in part."""
    first, second = (planned(racer, world, catalog) for racer in racers)
    world.service.answer_late(1.0)
    process = racers[0].begin(f"leg {first}")
    world.wait_for(lambda: world.service.received["verify"] >= WORKERS)

    refused = racers[1].do(f"leg {second}")
    kill(racers[0], process)
    world.service.answer_late(0.02)
    code = racers[1].do(f"sweep {catalog}")

    assert (refused, code) == (9, 0)
    assert {row["run_id"] for row in world.rows()} == {first}
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))


def _kill_a_leg(world: ForeignWorld, runner: Runner, run_id: str, chance: random.Random) -> int:
    """Begin a leg and kill it; give the number of verify calls that it may not have written down."""
    enough = world.service.received["verify"] + chance.randint(ROWS * 3 // 4, ROWS * 7 // 8)
    world.service.answer_late(0.4)
    process = runner.begin(f"leg {run_id}")
    world.wait_for(lambda: world.service.received["verify"] >= enough)
    killed_at = time.monotonic()
    kill(runner, process)
    world.service.answer_late(0.02)
    return WORKERS + len(world.service.ids(since=killed_at - UNWRITTEN_SECONDS, calls={"verify"}))


def _check_rows_and_legs(world: ForeignWorld, run_id: str) -> None:
    """Read the tables as an ordinary reader does."""
    rows = [row["manifest_row"] for row in world.rows() if row["run_id"] == run_id]
    assert rows == list(range(ROWS))
    times: dict[int, list[float]] = {}
    for exchange in world.table("exchanges"):
        if exchange["run_id"] == run_id and exchange["manifest_row"] is not None:
            times.setdefault(exchange["leg"], []).append(exchange["started_at"].timestamp())
    in_order = [times[leg] for leg in sorted(times)]
    assert all(max(earlier) < min(later) for earlier, later in pairwise(in_order)), f"two legs of {run_id} overlap"
