"""Of two processes that resume one run in the same instant, one works and the other is refused.

There are four races here; `make soak` runs two hundred. Three of four are on results in a folder, and one is on
results in a bucket.
"""

import os
import random
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
SITUATIONS = ("planned", "killed", "ending")
"""What the racers find: a run without a leg, a leg that was killed, or a leg that ends just then."""
ROWS = 40
WORKERS = 4
LEG_SECONDS = ROWS / WORKERS * 2 * 0.02
"""A leg takes about so long, since each of a row's two keyed calls is answered after 20 ms."""
UNWRITTEN_SECONDS = 1.5
"""A killed process loses the work of its last second; a busy machine adds some."""


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("place", PLACES)
def test_one_of_two_resumes_works(place: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No two legs call at the same time, no row is there twice, and only what a kill interrupted is sent again."""
    world: ForeignWorld = request.getfixturevalue("bare_world" if place == "folder" else "bucket_world")
    _slow_down(world, monkeypatch)
    chance, racers = random.Random(20261122), (Runner(), Runner())  # noqa: S311
    catalog, happened = world.catalog(*["valid"] * ROWS), Counter[str]()

    for situation in islice(cycle(SITUATIONS), PLACES[place]):
        assert racers[0].do(f"plan {catalog}") == 0
        run_id, before = world.runs[-1], world.service.received["verify"]

        unwritten = _kill_a_leg(world, racers[0], run_id, chance) if situation == "killed" else 0
        codes = _race(racers, run_id, chance.uniform(0.5, 1.5) * LEG_SECONDS if situation == "ending" else 0.0)

        happened[f"{situation}: {codes}"] += 1
        assert codes in ([0, 0], [0, 9])
        _check_rows_and_legs(world, run_id)
        assert world.service.received["verify"] - before <= ROWS + unwritten

    assert any("9" in each for each in happened), happened
    print(place, dict(happened))  # noqa: T201 - `make soak` shows it


def test_a_leg_that_comes_back_after_a_take_over_publishes_nothing(
    bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its machine was suspended for long: it loses what a kill at that moment would, and no row is there twice."""
    _slow_down(bare_world, monkeypatch)
    sleeper, successor = Runner(), Runner()
    assert sleeper.do(f"plan {bare_world.catalog(*['valid'] * ROWS)}") == 0
    (run_id,) = bare_world.runs
    process = sleeper.begin(f"leg {run_id}")
    bare_world.wait_for(lambda: bare_world.service.received["verify"] >= ROWS // 4)
    os.kill(process, signal.SIGSTOP)
    before = bare_world.service.ids(calls={"uploads", "verify"})
    in_time = {each for each in before if time.monotonic_ns() - int(each.rpartition("~")[2]) > UNWRITTEN_SECONDS * 1e9}

    successor.begin(f"seize {run_id}")
    bare_world.wait_for(lambda: bare_world.service.received["verify"] >= ROWS // 2)
    os.kill(process, signal.SIGCONT)
    codes = (sleeper.exit_code(), successor.exit_code())

    kept = [row["request_id"] for row in bare_world.table("exchanges") if row["request_id"]]
    assert codes == (9, 0)
    assert [row["manifest_row"] for row in bare_world.rows()] == list(range(ROWS))
    assert len(kept) == len(set(kept))
    assert in_time - set(kept) == set()
    assert {row[f"{call}_request_id"] for row in bare_world.rows() for call in ("uploads", "verify")} <= set(kept)


def _slow_down(world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have few files in flight, and each keyed call of a file answered late."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", str(WORKERS))
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "400")
    world.service.answer_late(0.02)


def _race(racers: tuple[Runner, Runner], run_id: str, lead_seconds: float) -> list[int]:
    """Let both resume the run, the second perhaps a moment later; give their exit codes, sorted."""
    racers[0].begin(f"leg {run_id}")
    time.sleep(lead_seconds)
    racers[1].begin(f"leg {run_id}")
    return sorted(racer.exit_code() for racer in racers)


def _kill_a_leg(world: ForeignWorld, runner: Runner, run_id: str, chance: random.Random) -> int:
    """Begin a leg and kill it; give the number of verify calls that it may not have written down."""
    process = runner.begin(f"leg {run_id}")
    time.sleep(chance.uniform(0.1, 1.0) * LEG_SECONDS + 0.3)
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    killed_at = time.monotonic()
    runner.exit_code()
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
