"""A pause that one process is told binds the others that share the key, in real time; `make soak` tells twenty."""

import os
import shutil
import time
from dataclasses import dataclass, field

import pytest

from ..servers.foreign_service import Answer
from ..worlds.foreign_world import ForeignWorld
from .bare_runner import Runner

IS_SOAK = "PROOFSWEEP_SOAK_RACES" in os.environ
PAUSES = 20 if IS_SOAK else 3
PAUSE_SECONDS = 2.0
CALLS_BETWEEN = 25
HEARD_SECONDS = 0.5 if IS_SOAK else 1.0
"""Half a second is what is promised; among the tests, a machine of two cores does not always keep it."""
ROWS = 2_000 if IS_SOAK else 120


@dataclass(slots=True)
class BusyLane:
    """Lets some calls through after each pause, then refuses one, and notes when; after so many it refuses none."""

    refused: list[float] = field(default_factory=list)
    let_through: int = 0  # since the last pause

    def __call__(self, _number: int, usual: Answer) -> Answer:
        now = time.monotonic()
        is_paused = bool(self.refused) and now < self.refused[-1] + PAUSE_SECONDS
        self.let_through += not is_paused
        if len(self.refused) == PAUSES or is_paused or self.let_through < CALLS_BETWEEN:
            return usual
        self.let_through = 0
        self.refused.append(now)
        return Answer(429, b"busy", headers={"Retry-After": f"{PAUSE_SECONDS:.0f}"})


@pytest.mark.timeout(600)
def test_a_pause_that_one_process_is_told_binds_the_other(
    bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No call of either comes within it, once there was time to tell."""
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "20")
    bare_world.service.answer_late(0.02)
    catalog = bare_world.catalog(*["valid"] * ROWS)
    catalogs = [catalog, shutil.copy(catalog, bare_world.folder / "other.csv")]
    lane, came, late = BusyLane(), list[float](), bare_world.service.changes["verify"]

    def answer(number: int, usual: Answer) -> Answer:
        came.append(time.monotonic())
        return lane(number, late(number, usual))

    bare_world.service.changes |= dict.fromkeys(("uploads", "verify"), answer)
    runners = [Runner(), Runner()]
    for runner, listed in zip(runners, catalogs, strict=True):
        runner.begin(f"sweep {listed}")
    codes = [runner.exit_code() for runner in runners]

    within = [
        round(at - told, 3) for told in lane.refused for at in came if HEARD_SECONDS < at - told < PAUSE_SECONDS - 0.1
    ]
    assert (codes, len(lane.refused)) == ([0, 0], PAUSES)
    assert within == []
