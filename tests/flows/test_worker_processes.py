"""A run whose partitions several worker processes of Dask work on has the same tables as one that one process did.

What happens when processes are lost is tested in tests/faults/test_worker_processes.py.
"""

import os
import signal
import subprocess
import sys
from collections import Counter
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from ..worlds.core import plan, set_chosen
from ..worlds.ended_runs import plan_of_run
from ..worlds.sandbox_world import Samples, SandboxWorld

ROWS = 90
KEYED = {"uploads", "verify", "usage"}


@pytest.fixture
def run_id(world: SandboxWorld, samples: Samples, monkeypatch: pytest.MonkeyPatch) -> str:
    """A planned run of two partitions over the sample files, at a service whose answers take some time."""
    world.operator.add_fault("verify", "slow", seconds=0.4)
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "4")
    monkeypatch.setenv("PROOFSWEEP_PARTITIONS", "2")
    set_chosen(monkeypatch, small_run_items=10)
    return plan(world.manifest(islice(cycle(samples.files), ROWS)), world.results_url)


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


@pytest.fixture
def without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prefect_dask", None)


@pytest.mark.usefixtures("without_dask")  # in this process: it does the rest
def test_ctrl_c_finishes_what_is_in_flight(world: SandboxWorld, run_id: str) -> None:
    """A terminal sends it to the worker processes too. Nothing is lost or paid twice when the run is resumed."""
    process = start_in_a_group(world, "resume", run_id)
    world.wait_for(lambda: len(world.writers()) == 2 or process.poll() is not None)

    os.killpg(process.pid, signal.SIGINT)
    code = process.wait(timeout=200)
    world.operator.clear_faults()
    rest = world.run("resume")

    assert (code, rest) == (6, 3), world.logs
    assert Counter(leg["ended_by"] for leg in world.legs()) == {"cancelled": 2, "complete": 2}
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
    assert all(leg["calls_again"] == 0 for leg in world.legs())
    check_calls(world, unrecorded=3)  # the plan's own, and what each command asks the service before legs begin


def test_a_cluster_of_one_s_own_may_work_with_the_key_in_a_block(
    world: SandboxWorld, samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each worker process reads the block from the Prefect server."""
    from prefect.blocks.system import Secret  # noqa: PLC0415 - Prefect reads the environment on import
    from prefect_dask.task_runners import DaskTaskRunner  # noqa: PLC0415 - the same

    Secret(value=world.key_file.read_text()).save("proofsweep-key", overwrite=True)  # type: ignore[unused-coroutine]
    monkeypatch.delenv("PROOFSWEEP_SERVICE__API_KEY_FILE")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_BLOCK", "proofsweep-key")
    monkeypatch.setenv("PROOFSWEEP_PARTITIONS", "2")
    set_chosen(monkeypatch, small_run_items=10)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with DaskTaskRunner(cluster_kwargs=options) as cluster:
        monkeypatch.setenv("PROOFSWEEP_DASK__ADDRESS", cluster.client.scheduler_info()["address"])

        state = world.flow("verify_catalog", catalog=world.manifest(samples.valid[:20]))

    assert state.name == "Completed"
    assert [row["outcome"] for row in world.rows()] == ["accepted"] * 20
    assert [leg["leg"] for leg in world.legs()] == [1, 2]
    check_calls(world, unrecorded=1)  # the plan's own


def test_a_cluster_that_cannot_be_used_is_refused(
    world: SandboxWorld, run_id: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One line says why; no file is sent."""
    import dask.config  # noqa: PLC0415 - few tests need it

    monkeypatch.setenv("PROOFSWEEP_DASK__ADDRESS", "tcp://127.0.0.1:9")
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        code = world.run("resume", run_id)

    (line,) = capfd.readouterr().err.splitlines()
    assert (code, world.legs()) == (2, [])
    assert "cannot be used" in line


def test_a_worker_of_another_world_refuses(tmp_path: Path) -> None:
    """One of another version, or without the catalog's folder: its files would seem to be missing."""
    from proofsweep import __version__  # noqa: PLC0415 - with the next line
    from proofsweep_tasks.verify_partition import refuse_other_world  # noqa: PLC0415 - it imports Prefect

    def plan(catalog: str) -> Any:  # noqa: ANN401 - the core's
        return plan_of_run("20261120T020000Z_000aa", catalog=catalog)

    for there in (str(tmp_path), f"{tmp_path}/*/list.csv", "s3://label/music"):
        refuse_other_world(plan(there), __version__)
    with pytest.raises(Exception, match=r"the run was begun by proofsweep 0\.0\.9"):
        refuse_other_world(plan(str(tmp_path)), "0.0.9")
    with pytest.raises(Exception, match="a folder must be mounted at the same place everywhere"):
        refuse_other_world(plan(f"{tmp_path}/gone"), __version__)


@pytest.mark.usefixtures("without_dask")
def test_without_dask_one_process_works_on_the_partitions_in_turn(
    world: SandboxWorld, run_id: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """It says so. Of each partition there is a leg, and the bounds are of both together."""
    world.operator.clear_faults()

    codes = [world.run("resume", run_id, "--max-calls", "121"), world.run("resume", run_id)]

    assert codes == [6, 3]
    assert "works on the partitions in turn" in capfd.readouterr().err
    assert 110 <= sum(leg["calls"] for leg in world.legs() if leg["leg"] <= 2) <= 121
    assert [leg["ended_by"] for leg in world.legs()] == ["complete", "window", "complete"]
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
