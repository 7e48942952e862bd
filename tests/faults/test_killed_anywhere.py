"""Killed at any instant and at every write, a run loses no row, doubles none, and spends little twice.

Thirty-two kills here; `make soak` draws three hundred, and prints the report that the documentation shows. Of four
kills three are of runs with their results in a folder, and one of a run with its results in a bucket.
"""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, cycle
from typing import Any

import pyarrow.parquet as pq
import pytest

World = Any
Runner = Any

KILLS = int(os.environ.get("PROOFSWEEP_SOAK_KILLS", "32"))
PLACES = {"folder": KILLS - KILLS // 4, "bucket": KILLS // 4}
"""Where the results are, and how many kills are for it."""
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
Counts = dict[str, int]


@dataclass
class Soak:
    """Runs of one catalog under a service with faults of its own, killed until enough is enough."""

    world: World
    chance: random.Random
    catalog: str
    runner: Runner
    kills: Counter[str] = field(default_factory=Counter)

    def plan(self) -> str:
        """Plan one more run."""
        assert self.runner.do(f"plan {self.catalog}") == 0
        return self.world.runs[-1]

    def end_one_leg(self, run_id: str, cut: tuple[int, str]) -> bool:
        """Work on a run until the leg is cut off, or over; say whether the run is complete."""
        write, when = cut
        process = self.runner.begin(f"leg {run_id} {write} {when}")
        if when == "moment":
            time.sleep(self.chance.uniform(0.05, 1.5))
            _nothing_is_doubled(self.world, run_id)
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        code = self.runner.exit_code()
        assert code in {0, 3, -signal.SIGKILL}, f"the leg ended with {code}"
        self.kills[when] += code == -signal.SIGKILL
        return code == 0

    def cuts(self) -> list[tuple[int, str]]:
        """Give every write that a leg may come to, at its moments, and as many moments drawn by lot, mixed."""
        moments = ("before", "half", "after", "moment") if self.world.bucket is None else ("before", "after", "moment")
        cuts = [(write, when) for write in range(1, 25) for when in moments]
        self.chance.shuffle(cuts)
        return cuts

    def count(self, rows: list[dict[str, Any]], again: int) -> Counts:
        """Say what it came to."""
        killed = {f"killed {words}": self.kills[when] for when, words in MOMENTS.items()}
        refused = sum(given.status >= 500 for given in self.world.service.given)
        once = {(row["run_id"], row["manifest_row"]) for row in rows}
        wrongly = [row for row in rows if row["accepted"] and VERDICTS[row["manifest_row"] % len(VERDICTS)] != "valid"]
        return killed | {
            "calls answered 503": refused,
            "runs": len(self.world.runs),
            "rows": len(rows),
            "rows lost": len(self.world.runs) * ROWS - len(once),
            "rows doubled": len(rows) - len(once),
            "accepted wrongly": len(wrongly),
            "calls": 2 * len(rows) + again,
            "of them spent again, by kills and by failures": again,
        }


@pytest.fixture(scope="module")
def report() -> Iterator[dict[str, Counts]]:
    """What it came to, for each place; printed in the end as the documentation shows it."""
    counts: dict[str, Counts] = {}
    yield counts
    places = [place for place in PLACES if place in counts]
    lines = [["what", *(f"results in a {place}" for place in places)], ["---"] * (len(places) + 1)]
    lines += [[what, *(f"{counts[place][what]:,}" for place in places)] for what in next(iter(counts.values()), ())]
    print("", *(f"| {' | '.join(line)} |" for line in lines), sep="\n")  # noqa: T201 - what `make soak` is for


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("place", PLACES)
def test_killed_anywhere_nothing_is_lost_or_doubled(
    place: str, request: pytest.FixtureRequest, new_runner: NewRunner, report: dict[str, Counts]
) -> None:
    """While it goes on and after every kill a plain reader sees no row twice; in the end each is there, and right."""
    world: World = request.getfixturevalue("bare_world" if place == "folder" else "bucket_world")
    _trouble(world)
    catalog = world.catalog(*VERDICTS * (ROWS // len(VERDICTS)))
    soak = Soak(world, random.Random(20261121), catalog, new_runner())  # noqa: S311
    cuts, run_id = cycle(soak.cuts()), soak.plan()

    while soak.kills.total() < PLACES[place]:
        is_complete = soak.end_one_leg(run_id, next(cuts))
        _nothing_is_doubled(world, run_id)
        if is_complete:
            run_id = soak.plan()
    while not soak.end_one_leg(run_id, (0, "never")):
        pass

    rows = world.table("verdicts")
    again = world.service.asked["verify"] + world.service.asked["uploads"] - 2 * len(rows)
    report[place] = soak.count(rows, again)
    assert Counter(row["run_id"] for row in rows) == dict.fromkeys(world.runs, ROWS)
    assert len({(row["run_id"], row["manifest_row"]) for row in rows}) == len(rows)
    assert all(row["verdict"] == VERDICTS[row["manifest_row"] % len(VERDICTS)] for row in rows)
    assert again <= soak.kills.total() * 2 * WORKERS + _in_a_busy_second(world) * soak.kills.total() + _tries(world)


@pytest.fixture(autouse=True)
def _some_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say how many items a kill may find in flight, and let them all be."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", str(WORKERS))
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "400")


def _trouble(world: World) -> None:
    """Let one call in a hundred fail, and each take its time."""
    chance = random.Random(7)  # noqa: S311
    for call in ("uploads", "slot", "verify"):

        def twist(_number: int, usual: Any) -> Any:  # noqa: ANN401 - the fixture's type
            time.sleep(0.02)
            return world.service.says(503, b"busy") if chance.random() < 0.01 else usual

        world.service.twists[call] = twist


def _nothing_is_doubled(world: World, run_id: str) -> None:
    """Read as a plain reader would: every part is whole, and no row is in two."""
    tables = {path: pq.read_table(path) for path in world.results.glob(f"*/run_date=*/{run_id}-*.parquet")}
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
