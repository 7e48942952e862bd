"""A wall clock that jumps by hours, ahead or back, disturbs neither a run nor who works on it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ..servers.launching import need

World = Any
Runner = Any
NewRunner = Callable[[], Runner]

ROWS = 40
JUMPS = {10: "+3h", 20: "-2h", 30: "+0"}
"""By the number of the verify call at which the clock is set, and by how much it is then wrong."""


@dataclass(frozen=True, slots=True)
class WallClock:
    """The wall clock of the processes that are started from now on; the monotonic one is left alone."""

    setting: Path

    def be_wrong_by(self, shift: str) -> None:
        """Let it jump, in running processes too."""
        draft = self.setting.with_suffix(".new")
        draft.write_text(f"{shift}\n")
        draft.replace(self.setting)


@pytest.fixture
def wall_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WallClock:
    """A clock that is right, until it is set."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
    need(library, "libfaketime (Debian: faketime)")
    clock = WallClock(tmp_path / "clock")
    clock.be_wrong_by("+0")
    settings = {"TIMESTAMP_FILE": str(clock.setting), "NO_CACHE": "1", "DONT_FAKE_MONOTONIC": "1"}
    for name, text in settings.items():
        monkeypatch.setenv(f"FAKETIME_{name}", text)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "100")
    return clock


def test_a_clock_that_jumps_in_mid_run_changes_nothing(
    bare_world: World, wall_clock: WallClock, new_runner: NewRunner
) -> None:
    """No call times out by it, a pause lasts as long as it was told to, and no row ends before it began."""

    def jump(number: int, usual: Any) -> Any:  # noqa: ANN401 - the fixture's type
        if number in JUMPS:
            wall_clock.be_wrong_by(JUMPS[number])
        return bare_world.service.says(429, b"busy", headers={"Retry-After": "1"}) if number == 30 else usual

    bare_world.service.twists["verify"] = jump
    runner, catalog = new_runner(), bare_world.catalog(*["valid", "tampered"] * (ROWS // 2))
    runner.do(f"plan {catalog}")
    (run_id,) = bare_world.runs
    began = time.monotonic()

    code = runner.do(f"leg {run_id}")

    took_seconds = time.monotonic() - began
    (leg,), rows = bare_world.legs(), bare_world.rows()
    exchanges = bare_world.table("exchanges")
    at = [row["started_at"] for row in exchanges]
    assert code == 0
    assert [row["verdict"] for row in rows] == ["valid", "tampered"] * (ROWS // 2)
    assert max(at) - min(at) > timedelta(hours=4)
    assert all(row["started_at"] <= row["finished_at"] for row in [*rows, leg])
    assert all(0.0 <= row["elapsed_ms"] <= took_seconds * 1_000 for row in exchanges)
    assert (leg["ended_by"], leg["throttled"], {row["failure"] for row in exchanges}) == ("complete", 1, {None})


@pytest.fixture
def leg_at_work(bare_world: World, new_runner: NewRunner) -> Iterator[str]:
    """A run on which a process is at work, until the test is over; its clock is right."""
    release: list[bool] = []
    bare_world.service.twists["verify"] = lambda _, usual: bare_world.wait_for(lambda: bool(release)) or usual
    runner = new_runner()
    runner.do(f"plan {bare_world.catalog('valid', 'valid')}")
    (run_id,) = bare_world.runs
    runner.begin(f"leg {run_id}")
    bare_world.wait_for(lambda: bare_world.service.asked["verify"] == 2)
    yield run_id
    release.append(True)
    assert runner.exit_code() == 0
    assert [row["accepted"] for row in bare_world.rows()] == [True, True]


@pytest.mark.parametrize("shift", ["+3h", "-3h"])
def test_nobody_takes_a_run_over_because_a_clock_has_jumped(
    shift: str, leg_at_work: str, new_runner: NewRunner, request: pytest.FixtureRequest
) -> None:
    """A second process, whose wall clock is hours off, sees all the same that the first one is alive."""
    request.getfixturevalue("wall_clock").be_wrong_by(shift)

    assert new_runner().do(f"leg {leg_at_work}") == 9


def test_a_window_closes_by_the_wall_clock(
    bare_world: World, wall_clock: WallClock, new_runner: NewRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--until` is a time of day: who sets the clock past it ends the leg in good order, and the rest remains."""
    monkeypatch.setenv("PROOFSWEEP_BOUNDS__UNTIL", f"{datetime.now(UTC) + timedelta(hours=2):%Y-%m-%dT%H:%MZ}")
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "2")
    bare_world.service.twists["verify"] = lambda number, usual: (
        (number == ROWS // 2 and wall_clock.be_wrong_by("+3h")) or usual
    )
    runner, catalog = new_runner(), bare_world.catalog(*["valid"] * ROWS)
    runner.do(f"plan {catalog}")
    (run_id,) = bare_world.runs

    first = runner.do(f"leg {run_id}")
    then = len(bare_world.rows())
    wall_clock.be_wrong_by("+0")
    second = runner.do(f"leg {run_id}")

    assert (first, second) == (3, 0)
    assert ROWS // 2 <= then < ROWS
    assert [leg["ended_by"] for leg in bare_world.legs()] == ["window", "complete"]
    assert [row["manifest_row"] for row in bare_world.rows()] == list(range(ROWS))
