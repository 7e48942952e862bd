"""A run that is killed at any moment, or at any write, loses no row, doubles none, and repeats few calls.

There are six kills here, of runs with results in a folder; `make soak` draws three hundred, a quarter of them of runs
with results in a bucket, and prints a report of them. tests/world has the kills of processes that are not real.
"""

import os
import random
import signal
import threading
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, cycle

import pyarrow.parquet as pq
import pytest

from ..servers.foreign_service import Answer, answer_after
from ..worlds.command_world import Row
from ..worlds.core import remaining
from ..worlds.foreign_world import ForeignWorld
from ..worlds.waiting import LONGEST_WAIT_SECONDS, wait_for
from .bare_runner import Runner

KILLS = int(os.environ.get("PROOFSWEEP_SOAK_KILLS", "6"))
IS_SOAK = "PROOFSWEEP_SOAK_KILLS" in os.environ
PLACES = {"folder": KILLS - KILLS // 4, "bucket": KILLS // 4} if IS_SOAK else {"folder": KILLS}
"""By place of the results: the number of kills."""
MOST_WRITES = 50 if IS_SOAK else 12
"""A leg that goes on after a kill writes some forty times; of the few legs here, each is to be killed."""
SEED = int(os.environ.get("PROOFSWEEP_SOAK_SEED", "20261121"))
ROWS = 60
WORKERS = 8
ANSWER_SECONDS = 0.3 if IS_SOAK else 0.02
LEG_SECONDS = ROWS / WORKERS * 2 * ANSWER_SECONDS
UNWRITTEN_SECONDS = 3.0
"""A killed process loses the work of its last second; on a busy machine a durable write may take two more."""
VERDICTS = ("valid", "tampered", "valid", "local_seal")
MOMENTS = {
    "before": "before a write",
    "half": "in the middle of a write",
    "after": "after a write",
    "moment": "at a random moment",
}
Counts = dict[str, int]


@dataclass
class Soak:
    """Runs of one catalog, killed again and again, while the service has faults of its own."""

    world: ForeignWorld
    chance: random.Random
    catalog: str
    runner: Runner
    kills: Counter[str] = field(default_factory=Counter)
    kept: int = 0  # calls that were answered so long before a kill that none may be lost

    def plan(self) -> str:
        assert self.runner.do(f"plan {self.catalog}") == 0
        return self.world.runs[-1]

    def work_one_leg(self, run_id: str, kill: tuple[int, str]) -> bool:
        """Work on one leg until it is killed or ends; say whether the run is complete."""
        (write, when), began = kill, time.monotonic()
        process = self.runner.begin(f"leg {run_id} {write} {when}")
        if when == "moment":
            time.sleep(self.chance.uniform(0.05, 1.2 + LEG_SECONDS))
            _check_no_row_is_doubled(self.world, run_id)
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        code = self.runner.exit_code()
        assert code in {0, 3, -signal.SIGKILL}, f"the leg ended with {code}"
        if code == -signal.SIGKILL:
            self.kills[when] += 1
            self._check_what_is_kept(run_id, began)
        return code == 0

    def _check_what_is_kept(self, run_id: str, began: float) -> None:
        """See that of the leg that was just killed only the last moments are lost."""
        since = began + 2 * ANSWER_SECONDS  # by then what the leg before had in flight is answered
        ids = self.world.service.ids(since, time.monotonic() - UNWRITTEN_SECONDS, {"uploads", "verify"})
        parts = [pq.read_table(path) for path in self.world.results.glob(f"exchanges/*/{run_id}-*.parquet")]
        published = {each for part in parts for each in part["request_id"].to_pylist()}
        assert ids - self.world.journalled_ids() - published == set()
        self.kept += len(ids)

    def finish(self, run_id: str) -> None:
        while not self.work_one_leg(run_id, (0, "never")):
            pass

    def kill_points(self) -> list[tuple[int, str]]:
        """Return each write of a leg with each of its moments, and as many random moments, in random order."""
        moments = ("before", "half", "after", "moment") if self.world.bucket is None else ("before", "after", "moment")
        points = [(write, when) for write in range(1, MOST_WRITES) for when in moments]
        self.chance.shuffle(points)
        return points

    def count(self, rows: list[Row], repeated: int) -> Counts:
        killed = {f"killed {words}": self.kills[when] for when, words in MOMENTS.items()}
        refused = sum(one.status >= 500 for one in self.world.service.sent)
        once = {(row["run_id"], row["manifest_row"]) for row in rows}
        wrongly = [row for row in rows if row["accepted"] and VERDICTS[row["manifest_row"] % len(VERDICTS)] != "valid"]
        return killed | {
            "calls answered 503": refused,
            "runs": len(self.world.runs),
            "rows": len(rows),
            "rows lost": len(self.world.runs) * ROWS - len(once),
            "rows doubled": len(rows) - len(once),
            "accepted wrongly": len(wrongly),
            "calls": 2 * len(rows) + repeated,
            "of them repeated, after kills and failures": repeated,
        }


@pytest.fixture(scope="module")
def report() -> Iterator[dict[str, Counts]]:
    """The counts for each place, printed at the end."""
    counts: dict[str, Counts] = {}
    yield counts
    places = [place for place in PLACES if place in counts]
    lines = [["what", *(f"results in a {place}" for place in places)], ["---"] * (len(places) + 1)]
    lines += [[what, *(f"{counts[place][what]:,}" for place in places)] for what in next(iter(counts.values()), ())]
    print("", *(f"| {' | '.join(line)} |" for line in lines), sep="\n")  # noqa: T201 - `make soak` shows it


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("place", PLACES)
def test_a_run_that_is_killed_anywhere_has_each_row_once(
    place: str, request: pytest.FixtureRequest, report: dict[str, Counts]
) -> None:
    """After each kill no reader sees a row twice, and an audit passes; at the end each row is there, and right.

    Each is proved, and the head of the log before the last run is still in its line.
    """
    world: ForeignWorld = request.getfixturevalue("bare_world" if place == "folder" else "bucket_world")
    _add_faults(world)
    catalog = world.catalog(*VERDICTS * (ROWS // len(VERDICTS)))
    soak = Soak(world, random.Random(SEED), catalog, Runner())  # noqa: S311
    points, run_id = cycle(soak.kill_points()), soak.plan()

    while soak.kills.total() < PLACES[place]:
        is_complete = soak.work_one_leg(run_id, next(points))
        _check_no_row_is_doubled(world, run_id)
        assert world.told("audit", run_id)["wrong"] == []
        if is_complete:
            run_id = soak.plan()
    soak.finish(run_id)
    head = world.told("audit")["head"]
    soak.finish(soak.plan())

    rows = world.table("verdicts")
    repeated = world.service.received["verify"] + world.service.received["uploads"] - 2 * len(rows)
    report[place] = soak.count(rows, repeated)
    assert soak.kept or not IS_SOAK
    audited = world.told("audit", "--head", head)
    assert (audited["wrong"], audited["runs"], audited["rows"]) == ([], len(world.runs), len(rows))
    _check_counts(world)
    assert Counter(row["run_id"] for row in rows) == dict.fromkeys(world.runs, ROWS)
    assert len({(row["run_id"], row["manifest_row"]) for row in rows}) == len(rows)
    assert all(row["verdict"] == VERDICTS[row["manifest_row"] % len(VERDICTS)] for row in rows)
    assert repeated <= soak.kills.total() * (2 * WORKERS + _most_calls_in_a_second(world)) + _retries(world)


@pytest.mark.parametrize("are_pairs", [False, True])
def test_a_leg_that_is_killed_among_its_rows_keeps_what_it_had(
    bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch, *, are_pairs: bool
) -> None:
    """Its rows, and the calls of items that wait for an answer, are in the journal or in a part within a second."""
    world, runner, released = bare_world, Runner(), threading.Event()

    def wait(number: int, usual: Answer) -> Answer:
        assert number < ROWS // 3 or released.wait(LONGEST_WAIT_SECONDS)
        return usual

    def published() -> set[str]:
        return {row["request_id"] for row in world.table("exchanges")}

    world.service.changes["verify"] = wait
    monkeypatch.setenv("PROOFSWEEP_SERVICE__SIDECAR_FIELD", "sidecar")
    catalog = world.catalog(*VERDICTS * (ROWS // len(VERDICTS)), are_pairs=are_pairs)
    assert runner.do(f"plan {catalog}") == 0
    (run_id,) = world.runs
    process = runner.begin(f"leg {run_id}")
    world.wait_for(lambda: world.service.received["verify"] >= ROWS // 3 + WORKERS)
    ids = world.service.ids(calls={"uploads", "verify"})
    wait_for(
        lambda: ids <= world.journalled_ids() | published() and remaining(run_id) == ROWS * 2 // 3,
        seconds=3 * UNWRITTEN_SECONDS,
    )
    os.kill(process, signal.SIGKILL)
    runner.exit_code()
    released.set()

    code = runner.do(f"leg {run_id}")

    assert code == 0
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
    assert ids <= published()
    assert [(leg["ended_by"], leg["remaining"]) for leg in world.legs()] == [("killed", ROWS * 2 // 3), ("complete", 0)]
    assert world.service.received["verify"] <= ROWS + WORKERS
    sidecars = {b64encode(f"sidecar of {row}".encode()).decode() if are_pairs else None for row in range(ROWS)}
    assert set(world.service.sidecars) == sidecars
    _check_counts(world)


@pytest.mark.skipif(not IS_SOAK, reason="tests/world kills plans at their writes: make soak")
@pytest.mark.parametrize("when", ["before", "half", "after"])
def test_a_plan_that_is_killed_at_any_write_leaves_nothing_behind(bare_world: ForeignWorld, when: str) -> None:
    """The next sweep makes one run of the catalog, or goes on with the one that was planned; each file is sent once."""
    world, runner, rows = bare_world, Runner(), len(VERDICTS) * 6
    catalog, codes = world.catalog(*VERDICTS * 6), list[int]()

    while 0 not in codes:
        verified = world.service.received["verify"]
        codes.append(runner.do(f"plan {catalog} {len(codes) + 1} {when}"))
        swept = runner.do(f"sweep {catalog}")

        (run_id,) = world.runs[len(codes) - 1 :]
        assert swept == 0
        assert [row["manifest_row"] for row in world.rows() if row["run_id"] == run_id] == list(range(rows))
        assert world.service.received["verify"] - verified == rows

    assert len(codes) > 3
    assert set(codes[:-1]) == {-signal.SIGKILL}
    assert [each["remaining"] for each in world.told("status")["catalogs"]] == [0]
    assert world.told("audit")["wrong"] == []


def _check_counts(world: ForeignWorld) -> None:
    """See that the row of each leg in `runs` counts what its parts have."""
    outcomes = Counter((row["run_id"], row["leg"], row["outcome"]) for row in world.table("verdicts"))
    sent = (row for row in world.table("exchanges") if row["bytes_sent"] is not None)
    calls = Counter((row["run_id"], row["leg"]) for row in sent if row["call"] not in {"slot", "health"})
    for row in world.table("runs"):
        leg = row["run_id"], row["leg"]
        counted = {name: outcomes[*leg, name] for name in ("accepted", "rejected", "failed", "ineligible")}
        done = sum(times for (run, number, _), times in outcomes.items() if run == leg[0] and number <= leg[1])
        counted |= {"calls": calls[leg], "remaining": ROWS - done}
        assert {name: row[name] for name in counted} == counted


@pytest.fixture(autouse=True)
def _few_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the number of items that a kill may interrupt, and start at full speed."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", str(WORKERS))
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "400")


def _add_faults(world: ForeignWorld) -> None:
    """Let one call in a hundred fail, and each answer take some time."""
    chance, slowly = random.Random(7), answer_after(ANSWER_SECONDS)  # noqa: S311
    for call in ("uploads", "slot", "verify"):

        def fail_sometimes(number: int, usual: Answer) -> Answer:
            return Answer(503, b"busy") if chance.random() < 0.01 else slowly(number, usual)

        world.service.changes[call] = fail_sometimes


def _check_no_row_is_doubled(world: ForeignWorld, run_id: str) -> None:
    """Read as an ordinary reader does: each part is whole, and no row is in two of them."""
    tables = {path: pq.read_table(path) for path in world.results.glob(f"*/run_date=*/{run_id}-*.parquet")}
    parts = [table["manifest_row"].to_pylist() for path, table in tables.items() if path.parts[-3] == "verdicts"]
    assert [row for row, times in Counter(chain.from_iterable(parts)).items() if times > 1] == []


def _most_calls_in_a_second(world: ForeignWorld) -> int:
    """Return the most keyed calls that were answered within any second."""
    moments = sorted(one.at for one in world.service.sent)
    most, first = 0, 0
    for last, moment in enumerate(moments):
        while moment - moments[first] > 1.0:
            first += 1
        most = max(most, last - first + 1)
    return most


def _retries(world: ForeignWorld) -> int:
    """Return an upper bound of the calls that were repeated after a failure."""
    return sum(one.status >= 500 for one in world.service.sent) * 2 + world.service.received["slot"] // 50
