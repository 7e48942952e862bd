"""Killed at any instant and at every write, a run loses no row, doubles none, and spends little twice.

Thirty kills here; `make soak` draws three hundred, and prints the report that the documentation shows.
"""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, cycle
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

World = Any
Runner = Any

KILLS = int(os.environ.get("PROOFSWEEP_SOAK_KILLS", "30"))
ROWS = 60
WORKERS = 8
VERDICTS = ("valid", "tampered", "valid", "local_seal")
MOMENTS = {
    "before": "before a write",
    "half": "in the middle of a write",
    "after": "after a write",
    "moment": "at a moment drawn by lot",
}
NewRunner = Callable[[], Runner]


@dataclass
class Soak:
    """Runs of one catalog under a service with faults of its own, killed until enough is enough."""

    world: World
    chance: random.Random
    catalog: str
    runner: Runner
    kills: Counter[str] = field(default_factory=Counter)

    @property
    def runs(self) -> list[str]:
        """The runs that were planned."""
        return sorted(path.parent.name for path in self.world.results.glob("_runs/*/plan.json"))

    def plan(self) -> str:
        """Plan one more run."""
        assert self.runner.do(f"plan {self.catalog}") == 0
        return self.runs[-1]

    def end_one_leg(self, run_id: str, cut: tuple[int, str]) -> bool:
        """Work on a run until the leg is cut off, or over; say whether the run is complete."""
        write, when = cut
        process = self.runner.begin(f"leg {run_id} {write} {when}")
        if when == "moment":
            time.sleep(self.chance.uniform(0.05, 1.5))
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        code = self.runner.exit_code()
        assert code in {0, 3, -signal.SIGKILL}, f"the leg ended with {code}"
        self.kills[when] += code == -signal.SIGKILL
        return code == 0

    def cuts(self) -> list[tuple[int, str]]:
        """Give every write that a leg may come to, at its three moments, and as many moments drawn by lot, mixed."""
        cuts = [(write, when) for write in range(1, 25) for when in ("before", "half", "after", "moment")]
        self.chance.shuffle(cuts)
        return cuts


@pytest.mark.timeout(1_800)
def test_killed_anywhere_nothing_is_lost_or_doubled(
    world: World, new_runner: NewRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After every kill a plain reader sees no row twice; in the end each is there once, and right."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", str(WORKERS))
    monkeypatch.setenv("PROOFSWEEP_RESULTS__URL", str(world.results))
    _trouble(world)
    catalog = world.catalog(*VERDICTS * (ROWS // len(VERDICTS)))
    soak = Soak(world, random.Random(20261121), catalog, new_runner())  # noqa: S311
    cuts, run_id = cycle(soak.cuts()), soak.plan()

    while soak.kills.total() < KILLS:
        is_complete = soak.end_one_leg(run_id, next(cuts))
        _nothing_is_doubled(world.results, run_id)
        if is_complete:
            run_id = soak.plan()
    while not soak.end_one_leg(run_id, (0, "never")):
        pass

    rows = world.table("verdicts")
    again = world.service.asked["verify"] + world.service.asked["uploads"] - 2 * len(rows)
    assert Counter(row["run_id"] for row in rows) == dict.fromkeys(soak.runs, ROWS)
    assert all(row["verdict"] == VERDICTS[row["manifest_row"] % len(VERDICTS)] for row in rows)
    assert again <= soak.kills.total() * 2 * WORKERS + _in_a_busy_second(world) * soak.kills.total() + _tries(world)
    print(_report(soak, len(rows), again))  # noqa: T201 - what `make soak` is for


def _trouble(world: World) -> None:
    """Let one call in a hundred fail, and each take its time."""
    chance = random.Random(7)  # noqa: S311
    for call in ("uploads", "slot", "verify"):

        def twist(_number: int, usual: Any) -> Any:  # noqa: ANN401 - the fixture's type
            time.sleep(0.02)
            return world.service.says(503, b"busy") if chance.random() < 0.01 else usual

        world.service.twists[call] = twist


def _nothing_is_doubled(results: Path, run_id: str) -> None:
    """Read as a plain reader would: every part is whole, and no row is in two."""
    tables = {path: pq.read_table(path) for path in results.glob(f"*/run_date=*/{run_id}-*.parquet")}
    parts = [table["manifest_row"].to_pylist() for path, table in tables.items() if path.parts[-3] == "verdicts"]
    assert [row for row, times in Counter(chain.from_iterable(parts)).items() if times > 1] == []


def _in_a_busy_second(world: World) -> int:
    """Give the most keyed calls that were answered within any second."""
    moments = sorted(given.at for given in world.service.given)
    most, first = 0, 0
    for last, moment in enumerate(moments):
        while moment - moments[first] > 1.0:
            first += 1
        most = max(most, last - first + 1)
    return most


def _tries(world: World) -> int:
    """Give the calls that were asked again because they had failed."""
    return sum(given.status >= 500 for given in world.service.given) * 2 + world.service.asked["slot"] // 50


def _report(soak: Soak, rows: int, again: int) -> str:
    """Write the table for the documentation."""
    kills = "\n".join(f"| killed {MOMENTS[when]} | {times} |" for when, times in sorted(soak.kills.items()) if times)
    refused = sum(given.status >= 500 for given in soak.world.service.given)
    return (
        f"\n| what | count |\n|---|---|\n{kills}\n| calls answered 503 | {refused} |\n| runs | {len(soak.runs)} |\n"
        f"| rows | {rows} |\n| rows lost | 0 |\n| rows doubled | 0 |\n| accepted wrongly | 0 |\n"
        f"| calls spent again, by kills and by failures | {again} of {2 * rows + again} |\n"
    )
