"""Worker processes of real Dask clusters work on partitions: whatever happens to one, each row is there once."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from ..worlds.core import plan
from ..worlds.foreign_world import ForeignWorld
from ..worlds.started_command import ForkedProcess
from ..worlds.waiting import wait_for

VERDICTS = ("valid", "tampered", "valid", "local_seal")
IS_SOAK = "PROOFSWEEP_SOAK_KILLS" in os.environ
ROWS = 480 if IS_SOAK else 240
"""More than 200, else one process does them all."""
only_in_soak = pytest.mark.skipif(not IS_SOAK, reason="starts a whole Dask cluster: make soak")
IN_FLIGHT = 8
"""Items in flight of all processes together."""
KEYED = {"uploads", "verify", "usage"}
ASKED_BEFORE = 1
"""Calls of the command itself, which asks the service what is left before legs begin."""

Workers = list["subprocess.Popen[bytes]"]


@pytest.fixture
def run_id(world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> str:
    """A planned run of two partitions, at a service whose calls take some time."""
    world.service.answer_late(0.03)
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", str(IN_FLIGHT))
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "400")
    return new_run(world)


def new_run(world: ForeignWorld, partitions: int = 2) -> str:
    return plan(world.catalog(*VERDICTS * (ROWS // len(VERDICTS))), partitions=partitions)


@pytest.fixture
def workers(world: ForeignWorld, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Workers]:
    """Two workers of a cluster that the settings name. A silent one is lost after five minutes, or as a test says."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", getattr(request, "param", "300s"))
    where = world.folder / "scheduler.json"

    def start(part: str, *options: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", f"distributed.cli.dask_{part}", "--scheduler-file", str(where), *options]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    address = ["--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"]
    processes = [start("scheduler", *address)]
    wait_for(lambda: where.exists() and where.read_text().endswith("}"))
    processes += [start("worker", "--nthreads", "2", "--no-nanny", "--no-dashboard") for _ in range(2)]
    monkeypatch.setenv("PROOFSWEEP_DASK__ADDRESS", json.loads(where.read_text())["address"])
    yield processes[1:]
    for process in reversed(processes):
        process.kill()
        process.wait()


def answered(world: ForeignWorld) -> int:
    return world.service.received["verify"]


def check_tables(world: ForeignWorld, *ended_by: str) -> None:
    """Each row is there once and right, and the receipts count each exchange."""
    rows, exchanges = world.rows(), world.table("exchanges")
    assert [row["manifest_row"] for row in rows] == list(range(ROWS))
    assert all(row["verdict"] == VERDICTS[row["manifest_row"] % len(VERDICTS)] for row in rows)
    assert Counter(leg["ended_by"] for leg in world.legs()) == Counter(ended_by)
    assert sum(one["call"] in KEYED for one in exchanges) == sum(leg["calls"] for leg in world.legs())


def again(world: ForeignWorld) -> int:
    """Count the calls to verify that were made more than once."""
    return answered(world) - ROWS


def wait_for_mid_run(world: ForeignWorld, process: ForkedProcess) -> None:
    """Wait until a quarter of the rows is done, and all processes have written some of them down."""
    world.wait_for(lambda: (answered(world) > ROWS // 4 and len(world.writers()) > 1) or process.poll() is not None)


def calls_in_hand(world: ForeignWorld) -> int:
    """Count the calls to verify that may be in flight now, and those of the last second."""
    since = time.monotonic() - 1.0
    return IN_FLIGHT + sum(one.call == "verify" and one.at > since for one in list(world.service.sent))


@pytest.mark.parametrize("partitions", [2, pytest.param(4, marks=only_in_soak)])
def test_a_killed_worker_process_costs_what_was_in_flight(world: ForeignWorld, run_id: str, partitions: int) -> None:
    """Dask runs its task again, and the partition's next leg takes over what it had written down."""
    world.service.answer_late(0.1)
    process = world.start("resume", run_id if partitions == 2 else new_run(world, partitions))

    wait_for_mid_run(world, process)
    enough = answered(world) + ROWS // 3  # some seconds after the first was written down
    world.wait_for(lambda: answered(world) > enough or process.poll() is not None)
    assert process.poll() is None, world.logs
    os.kill(world.writers()[0], signal.SIGKILL)
    most = calls_in_hand(world)
    code = process.wait(timeout=120)

    assert code == 3, world.logs
    check_tables(world, "killed", *["complete"] * partitions)
    assert again(world) <= most
    assert f"{ROWS:,} of {ROWS:,} rows" in world.logs


@only_in_soak
@pytest.mark.parametrize("workers", ["45s"], indirect=True)
def test_a_frozen_worker_that_comes_back_publishes_nothing(world: ForeignWorld, run_id: str, workers: Workers) -> None:
    """It was taken for lost, and another has done its partition."""
    process = world.start("resume", run_id)
    wait_for_mid_run(world, process)

    frozen = workers[0]
    frozen.send_signal(signal.SIGSTOP)
    most = calls_in_hand(world)
    code = process.wait(timeout=180)

    assert code == 3, world.logs
    check_tables(world, "killed", "complete", "complete")
    done = answered(world)
    frozen.send_signal(signal.SIGCONT)
    assert frozen.wait(timeout=60) is not None
    assert answered(world) - done <= IN_FLIGHT
    assert again(world) <= most + IN_FLIGHT
    check_tables(world, "killed", "complete", "complete")


@only_in_soak
def test_the_bound_of_calls_holds_though_a_worker_is_killed(world: ForeignWorld, run_id: str, workers: Workers) -> None:
    """All that its leg was given counts as spent. The next legs do the rest."""
    for_the_plan = world.service.charged
    process = world.start("resume", run_id, "--max-calls", "600")
    wait_for_mid_run(world, process)
    workers[0].kill()
    code = process.wait(timeout=120)
    charged = world.service.charged - for_the_plan
    rest = world.start("resume", run_id).wait(timeout=120)

    assert (code, rest) == (6, 3), world.logs
    assert 300 <= charged <= 600 + ASKED_BEFORE
    check_tables(world, "killed", "window", "complete", "complete")


@only_in_soak
def test_a_stop_reaches_workers_elsewhere_within_seconds(world: ForeignWorld, run_id: str, workers: Workers) -> None:
    """Nothing is lost or paid twice when the run goes on; the cluster is there for the next legs."""
    world.service.answer_late(0.2)
    process = world.start("resume", run_id)
    wait_for_mid_run(world, process)

    process.send_signal(signal.SIGINT)
    asked_at = time.monotonic()
    code = process.wait(timeout=60)
    last_at = max(one.at for one in world.service.sent)

    assert code == 6, world.logs
    assert time.monotonic() - asked_at < 15.0
    assert last_at - asked_at < 8.0
    told = _stopped_through_the_store(world, run_id)
    assert "It was stopped by `proofsweep stop`, asked on " in told["waiting"]
    assert 0 < sum(told["counts"].values()) <= told["calls"] / 2
    assert told["finished_before"] + sum(told["counts"].values()) < ROWS // 2
    assert world.start("resume", run_id).wait(timeout=120) == 3, world.logs
    check_tables(world, *["cancelled"] * 4, *["complete"] * 2)
    assert again(world) == 0
    assert all(worker.poll() is None for worker in workers)


def _stopped_through_the_store(world: ForeignWorld, run_id: str) -> dict[str, Any]:
    """Go on with a run, stop it from this process, and return what the last heartbeat of one of its legs told."""
    before = answered(world)
    process = world.start("resume", run_id)
    world.wait_for(lambda: answered(world) > before + IN_FLIGHT or process.poll() is not None)

    assert world.run("stop", run_id) == 0
    assert process.wait(timeout=60) == 6, world.logs

    world.service.changes.clear()
    heartbeat = world.results / "_runs" / run_id / "legs" / "003" / "heartbeat.json"
    told: dict[str, Any] = json.loads(heartbeat.read_bytes())["progress"]
    return told


@only_in_soak
def test_legs_on_a_cluster_outlive_the_process_that_began_them(
    world: ForeignWorld, run_id: str, workers: Workers
) -> None:
    """Each is whole, so it comes to its end; until then nobody else works on its partition."""
    process = world.start("resume", run_id)
    wait_for_mid_run(world, process)

    process.kill()
    process.wait()
    refused = world.start("resume", run_id).wait(timeout=120)
    world.wait_for(lambda: len(list(world.results.glob("_runs/*/legs/*/receipt.json"))) == 2)

    assert refused == 9, world.logs
    assert world.start("resume", run_id).wait(timeout=120) == 3, world.logs
    check_tables(world, "complete", "complete")
    assert again(world) == 0
    assert len(workers) == 2
