"""A wall clock that jumps by hours changes neither the rows of a run nor which process works on it."""

import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from ..servers.foreign_service import Answer
from ..servers.launching import need
from ..worlds.foreign_world import ForeignWorld
from ..worlds.waiting import LONGEST_WAIT_SECONDS
from .bare_runner import Runner

ROWS = 40
JUMPS = {10: "+3h", 20: "-2h", 30: "+0"}
"""By the number of the verify call that sets the clock: how wrong the clock is from then on."""


@dataclass(frozen=True, slots=True)
class WallClock:
    """The wall clock of the programs that it starts; their monotonic clock is always right."""

    setting: Path
    library: Path

    def set_wrong_by(self, shift: str) -> None:
        """Set the clock wrong, in running processes too."""
        draft = self.setting.with_suffix(".new")
        draft.write_text(f"{shift}\n")
        draft.replace(self.setting)

    def do(self, job: str) -> int:
        """Do a job; give its exit code."""
        command = [sys.executable, "-m", "tests.faults.bare_runner", *job.split()]
        settings = {"TIMESTAMP_FILE": str(self.setting), "NO_CACHE": "1", "DONT_FAKE_MONOTONIC": "1"}
        environment = {f"FAKETIME_{name}": text for name, text in settings.items()}
        environment |= {"NO_FAKE_STAT": "1", "LD_PRELOAD": str(self.library)}  # else it is slow to look at files
        return subprocess.run(command, env=os.environ | environment, check=False).returncode


@pytest.fixture
def wall_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WallClock:
    """A clock that is right until a test sets it."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
    need(library, "libfaketime (Debian: faketime)")
    assert library is not None
    clock = WallClock(tmp_path / "clock", library)
    clock.set_wrong_by("+0")
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "100")
    return clock


def test_a_clock_that_jumps_during_a_run_changes_nothing(bare_world: ForeignWorld, wall_clock: WallClock) -> None:
    """No call times out, a pause keeps its length, and no row ends before it starts."""

    def jump(number: int, usual: Answer) -> Answer:
        if number in JUMPS:
            wall_clock.set_wrong_by(JUMPS[number])
        return Answer(429, b"busy", headers={"Retry-After": "1"}) if number == 30 else usual

    bare_world.service.changes["verify"] = jump
    Runner().do(f"plan {bare_world.catalog(*['valid', 'tampered'] * (ROWS // 2))}")
    (run_id,) = bare_world.runs
    started = time.monotonic()

    code = wall_clock.do(f"leg {run_id}")

    took_seconds = time.monotonic() - started
    (leg,), rows = bare_world.legs(), bare_world.rows()
    exchanges = bare_world.table("exchanges")
    at = [row["started_at"] for row in exchanges]
    assert code == 0
    assert [row["verdict"] for row in rows] == ["valid", "tampered"] * (ROWS // 2)
    assert max(at) - min(at) > timedelta(hours=4)
    assert all(row["started_at"] <= row["finished_at"] for row in [*rows, leg])
    assert all(0.0 <= row["elapsed_ms"] <= took_seconds * 1_000 for row in exchanges)
    assert (leg["ended_by"], leg["throttled"], {row["failure"] for row in exchanges}) == ("complete", 1, {None})


def test_a_leg_is_not_taken_over_because_a_clock_has_jumped(bare_world: ForeignWorld, wall_clock: WallClock) -> None:
    """A second process, whose wall clock is hours ahead or behind, sees that the first one is alive."""
    released, runner = threading.Event(), Runner()

    def wait(_number: int, usual: Answer) -> Answer:
        assert released.wait(LONGEST_WAIT_SECONDS)
        return usual

    bare_world.service.changes["verify"] = wait
    runner.do(f"plan {bare_world.catalog('valid', 'valid')}")
    (run_id,) = bare_world.runs
    runner.begin(f"leg {run_id}")
    bare_world.wait_for(lambda: bare_world.service.received["verify"] == 2)
    codes = []
    for shift in ("+3h", "-3h"):
        wall_clock.set_wrong_by(shift)
        codes.append(wall_clock.do(f"leg {run_id}"))
    released.set()

    assert [*codes, runner.exit_code()] == [9, 9, 0]
    assert [row["accepted"] for row in bare_world.rows()] == [True, True]
