"""A run whose tasks Dask gives to several worker processes has the same tables as one that one process did.

What happens when processes are lost is tested in tests/faults/test_worker_processes.py.
"""

import os
import signal
import subprocess
import sys
from itertools import cycle, islice

import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld

ROWS = 300
KEYED = {"uploads", "verify", "usage"}


@pytest.fixture
def run_id(world: SandboxWorld, samples: Samples, monkeypatch: pytest.MonkeyPatch) -> str:
    """A planned run of two batches over the sample files, at a service whose answers take some time."""
    world.operator.add_fault("verify", "slow", seconds=0.1)
    return world.plan_batches(world.manifest(islice(cycle(samples.files), ROWS)), ROWS // 2, monkeypatch)


@pytest.fixture
def _on_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROOFSWEEP_RUNNER", "dask")
    monkeypatch.setenv("PROOFSWEEP_DASK__PROCESSES", "2")


def worker_processes(world: SandboxWorld) -> list[int]:
    """Return the process IDs of the worker processes that have finished rows."""
    found = world.results.glob("_runs/*/journal/*/verdicts-*")
    return sorted({int(path.name.split("-")[1].partition("_")[0]) for path in found})


def start_in_a_group(world: SandboxWorld, *arguments: str) -> "subprocess.Popen[bytes]":
    """Start a command as a terminal does: it and its worker processes are one process group."""
    command = [sys.executable, "-m", "proofsweep_cli", *arguments, "--results", world.results_url]
    with (world.folder / "log-group.txt").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def check_calls(world: SandboxWorld, *, unrecorded: int = 0) -> None:
    """Each charged call has its exchange and is counted, but for what a kill may cost."""
    exchanges = sum(one["call"] in KEYED and one["bytes_sent"] is not None for one in world.table("exchanges"))
    assert exchanges == sum(leg["calls"] for leg in world.legs())
    assert 0 <= world.charged - exchanges <= unrecorded


@pytest.mark.usefixtures("_on_dask")
def test_ctrl_c_finishes_what_is_in_flight(world: SandboxWorld, run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal sends it to the worker processes too. Nothing is lost or paid twice when the run is resumed."""
    process = start_in_a_group(world, "resume", run_id)
    world.wait_for(lambda: worker_processes(world) or process.poll() is not None)

    os.killpg(process.pid, signal.SIGINT)
    code = process.wait(timeout=200)
    monkeypatch.setenv("PROOFSWEEP_RUNNER", "threads")
    rest = world.start("resume").wait(timeout=200)

    assert (code, rest) == (6, 3), world.logs
    assert [leg["ended_by"] for leg in world.legs()] == ["cancelled", "complete"]
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
    assert [leg["calls_again"] for leg in world.legs()] == [0, 0]
    check_calls(world, unrecorded=1)  # the plan's own


def test_a_task_runner_of_one_s_own_may_have_worker_processes(
    world: SandboxWorld, samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are coordinated whatever the setting says. A run of few files has a task for each; the key is in a block."""
    from prefect.blocks.system import Secret  # noqa: PLC0415 - Prefect reads the environment on import
    from prefect_dask.task_runners import DaskTaskRunner  # noqa: PLC0415 - the same

    from proofsweep_flows.verify_catalog import verify_catalog  # noqa: PLC0415 - the same

    Secret(value=world.key_file.read_text()).save("proofsweep-key", overwrite=True)  # type: ignore[unused-coroutine]
    monkeypatch.delenv("PROOFSWEEP_SERVICE__API_KEY_FILE")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_BLOCK", "proofsweep-key")
    runner = DaskTaskRunner(
        cluster_kwargs={"n_workers": 2, "threads_per_worker": 4, "dashboard_address": "127.0.0.1:0"}
    )
    flow = verify_catalog.with_options(task_runner=runner)  # type: ignore[arg-type]  # its futures are of a subtype

    state = flow(catalog=world.manifest(samples.valid[:20]), results=world.results_url, return_state=True)

    assert state.name == "Completed"
    assert [row["outcome"] for row in world.rows()] == ["accepted"] * 20
    assert len(world.legs()) == 1
    check_calls(world, unrecorded=1)  # the plan's own


@pytest.mark.parametrize(
    ("address", "says"),
    [("tcp://127.0.0.1:9", "cannot be used"), ("tcp://scheduler.example:8786", "set PREFECT_API_URL")],
)
def test_a_cluster_that_cannot_be_used_is_refused(
    world: SandboxWorld, samples: Samples, monkeypatch: pytest.MonkeyPatch, address: str, says: str
) -> None:
    """One line says why; no file is sent."""
    monkeypatch.setenv("PROOFSWEEP_RUNNER", "dask")
    monkeypatch.setenv("PROOFSWEEP_DASK__ADDRESS", address)
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "1s")
    process = world.start("verify", world.manifest(samples.valid[:3]))

    assert process.wait(timeout=120) == 2
    assert says in world.logs
    assert "Traceback" not in world.logs
    assert world.legs() == []
