"""Whoever stops the worker lets its runs end: under the command of docker-compose.yml, and of the systemd unit."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox

from .composed_system import ComposedSystem
from .native_compose import ROOT

UNDISTURBED = 6
"""Files that are verified before the service becomes slow."""


def command_of_unit() -> list[str]:
    """Return `ExecStart=` of the worker's unit, with this environment's programs."""
    unit = (ROOT / "deploy" / "systemd" / "proofsweep-worker.service").read_text()
    (started,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    assert "\nKillMode=mixed\n" in unit  # systemd sends SIGTERM to the first process alone
    return shlex.split(started.replace("/usr/local/lib/proofsweep/venv/bin", str(Path(sys.executable).parent)))


@pytest.fixture
def operator(composed: ComposedSystem) -> Iterator[sandbox.Operator]:
    """The partner's operator; no fault is left behind."""
    with sandbox.Operator(f"http://127.0.0.1:{composed.parts.ports['8727']}") as operator:
        yield operator
        operator.clear_faults()


def stop(process: "subprocess.Popen[bytes]") -> None:
    """Send SIGTERM to the first process alone, wait, and look whether anything of it is left."""
    process.terminate()
    process.wait(60)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("kind", ["composition", "unit"])
def test_a_stopped_worker_lets_its_run_end(composed: ComposedSystem, operator: sandbox.Operator, kind: str) -> None:
    """The files in flight are finished, all answers are published, and the flow run is Interrupted, not Running."""
    folder = composed.parts.place("/var/lib/proofsweep/catalog")
    shutil.rmtree(folder)
    samples = sandbox.write_catalog(folder, operator, files=26, seed=60 + len(kind))
    if kind == "unit":
        composed.parts.stop("worker")
        composed.parts.services["worker"]["command"] = [*command_of_unit(), "--with-healthcheck"]
        composed.start("worker")
    seen = operator.exchanges()[-1]["seq"]
    operator.add_fault("uploads", "slow", seconds=3, after=UNDISTURBED)

    def verified() -> list[str]:
        found = (it for it in operator.exchanges(seen) if (it["call"], it["status"]) == ("verify", 200))
        return [it["request_id"] for it in found]

    flow_run = composed.started("nightly")
    composed.wait_for(lambda: len(verified()) >= UNDISTURBED // 2, "some answers")
    stop(composed.parts.processes.pop("worker"))

    ended = composed.api.get(f"/flow_runs/{flow_run}").json()
    assert ended["state_name"] == "Interrupted", composed.parts.output("worker")[-3000:]
    answered = {row["verify_request_id"] for row in composed.verdicts()}
    assert set(verified()) <= answered
    assert len(verified()) < sum(sample.verdict is not None for sample in samples)
    operator.clear_faults()
    composed.start("worker")
    assert composed.run_of("nightly")["state_name"] == "Completed"
