"""Several worker processes do one leg: what they do is all there, also when one of them is killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from proofsweep.bootstrap.runs import plan_catalog
from proofsweep.domain import runs
from proofsweep.settings import load_settings

from ..servers.foreign_service import answer_after
from ..worlds.foreign_world import ForeignWorld
from ..worlds.waiting import wait_for

PROGRAM = str(Path(__file__).with_name("bare_cluster.py"))
ROWS = 480
VERDICTS = ("valid", "tampered", "valid", "local_seal")
IN_FLIGHT = 8
"""Items in flight of all processes together."""
EVERYWHERE = pytest.mark.parametrize("world", ["folder", "bucket"], indirect=True)


@dataclass
class Cluster:
    """The running program: the process that holds the leg, and its worker processes."""

    holder: "subprocess.Popen[str]"
    workers: list[int]

    def exit_code(self) -> int:
        """Wait for the end of the leg."""
        return self.holder.wait(timeout=120)


Start = Callable[..., Cluster]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start the program on a run; what is left of it is killed at the end of the test."""
    started: list[Cluster] = []

    def start_cluster(run_id: str, processes: int = 2, *more: str) -> Cluster:
        with (tmp_path / "log").open("a") as log:
            command = [sys.executable, PROGRAM, run_id, str(processes), *more]
            holder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert holder.stdout is not None
        workers = [int(holder.stdout.readline()) for _ in range(processes)]
        started.append(Cluster(holder, workers))
        return started[-1]

    yield start_cluster
    for cluster in started:
        cluster.holder.kill()
        cluster.holder.communicate()
    print((tmp_path / "log").read_text())  # noqa: T201 - pytest shows it when the test fails


@pytest.fixture
def world(request: pytest.FixtureRequest) -> ForeignWorld:
    """Results in a folder, or in a bucket where a test asks for both; each call takes some time."""
    place = getattr(request, "param", "folder")
    found: ForeignWorld = request.getfixturevalue("bare_world" if place == "folder" else "bucket_world")
    for call in ("uploads", "verify"):
        found.service.changes[call] = answer_after(0.03)
    return found


@pytest.fixture
def planned(world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], str]:
    """Plan a run whose shards have so many items."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", str(IN_FLIGHT))
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "400")
    monkeypatch.setattr(runs, "SMALL_RUN_ITEMS", 0)

    def plan(shard_items: int) -> str:
        monkeypatch.setattr(runs, "MIN_SHARD_ITEMS", shard_items)
        return plan_catalog(load_settings(), world.catalog(*VERDICTS * (ROWS // len(VERDICTS)))).run_id

    return plan


@pytest.fixture
def run_id(planned: Callable[[int], str]) -> str:
    """A planned run of 12 shards."""
    return planned(20)


def journalled(world: ForeignWorld) -> int:
    """Count the verify calls that the service has answered."""
    return world.service.received["verify"]


def check_tables(world: ForeignWorld, *, legs: int = 1) -> None:
    """Each row is there once and right, each answered call is in the audit trail, and the counts are those of both."""
    rows, exchanges = world.rows(), world.table("exchanges")
    assert [row["manifest_row"] for row in rows] == list(range(ROWS))
    assert all(row["verdict"] == VERDICTS[row["manifest_row"] % len(VERDICTS)] for row in rows)
    assert len(world.legs()) == legs
    assert sum(leg["calls"] for leg in world.legs()) == sum(
        one["call"] in {"uploads", "verify", "usage"} for one in exchanges
    )


@EVERYWHERE
def test_worker_processes_leave_every_row_and_every_exchange(world: ForeignWorld, run_id: str, start: Start) -> None:
    """The receipt and the tables are as if one process had done it; every request ID is there."""
    planned_at, for_the_plan = time.monotonic(), world.service.charged

    code = start(run_id, 3).exit_code()

    assert code == 0
    check_tables(world)
    (leg,) = world.legs()
    assert (leg["ended_by"], leg["calls_again"]) == ("complete", 0)
    assert leg["calls"] == world.service.charged - for_the_plan
    known = {one["request_id"] for one in world.table("exchanges")}
    assert world.service.ids(since=planned_at) <= known


def test_a_killed_worker_process_costs_what_was_in_flight(world: ForeignWorld, run_id: str, start: Start) -> None:
    """Its shard is done by another one, without what it had written down."""
    cluster = start(run_id, 3)
    wait_for(lambda: journalled(world) > ROWS // 4)

    os.kill(cluster.workers[0], signal.SIGKILL)
    code = cluster.exit_code()

    assert code == 0
    check_tables(world)
    repeated = world.service.received["verify"] - ROWS
    in_a_second = most_in_a_second(world)
    assert repeated <= IN_FLIGHT + in_a_second // 3 + 1


def test_the_bound_of_calls_holds_for_all_processes_together(world: ForeignWorld, run_id: str, start: Start) -> None:
    """A leg that may make 101 calls makes hardly fewer, and never more; the next one does the rest."""
    for_the_plan = world.service.charged

    code = start(run_id, 3, "101").exit_code()

    charged = world.service.charged - for_the_plan
    rest = start(run_id, 2).exit_code()

    assert (code, rest) == (3, 0)
    assert 90 <= charged <= 101
    first, _ = world.legs()
    assert (first["ended_by"], first["calls"]) == ("window", charged)
    check_tables(world, legs=2)
    assert world.service.received["verify"] == ROWS + 2  # the negative control of each leg


def test_worker_processes_that_outlive_their_leg_give_way_to_the_next(
    world: ForeignWorld, planned: Callable[[int], str], start: Start
) -> None:
    """Only the process that holds the leg is killed, in the middle of long shards: hardly a row is verified twice."""
    run_id = planned(ROWS // 2)
    cluster = start(run_id, 2)
    wait_for(lambda: journalled(world) > ROWS // 4)
    cluster.holder.kill()
    cluster.holder.wait()
    done = journalled(world)

    code = start(run_id, 2).exit_code()

    assert code == 0
    check_tables(world, legs=2)
    assert done < ROWS - 2 * most_in_a_second(world)
    assert world.service.received["verify"] - ROWS <= IN_FLIGHT


def most_in_a_second(world: ForeignWorld) -> int:
    """Give the most calls to verify that were answered within any second."""
    moments = sorted(one.at for one in world.service.sent if one.call == "verify")
    return max(sum(start <= moment < start + 1.0 for moment in moments) for start in moments)
