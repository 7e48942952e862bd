"""Whoever stops the worker lets its runs end: under the command of docker-compose.yml, and of the systemd unit."""

import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox

from .composed_system import ComposedSystem
from .native_compose import ROOT

UNDISTURBED = 12
"""Files that are verified before the service becomes slow."""
LONGEST_END_SECONDS = 12.0 + 10.0
"""What `bounds.drain_seconds` gives to the files in flight, and ten seconds more."""


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


@pytest.mark.timeout(400)
@pytest.mark.parametrize("kind", ["composition", "unit"])
def test_a_stopped_worker_lets_its_two_runs_end(
    composed: ComposedSystem, operator: sandbox.Operator, kind: str
) -> None:
    """The files in flight are finished, all answers are published, and both flow runs are Interrupted, not Running.

    Under the unit, Prefect's server answers nothing more once it knows that: the worker ends all the same.
    """
    folder = composed.parts.place("/var/lib/proofsweep/catalog")
    shutil.rmtree(folder)
    files = [
        each
        for number, place in enumerate([folder, folder.with_name(f"other-{kind}")])
        for each in sandbox.write_catalog(place, operator, files=40, seed=60 + 2 * len(kind) + number)
    ]
    other = composed.another_deployment("nightly", f"other-{kind}")
    if kind == "unit":
        composed.parts.stop("worker")
        composed.parts.services["worker"]["command"] = [*command_of_unit(), "--with-healthcheck"]
        composed.start("worker")
    seen = operator.exchanges()[-1]["seq"]
    operator.add_fault("uploads", "slow", seconds=3, after=UNDISTURBED)
    before = set(composed.results.glob("_runs/*/journal/*"))

    def verified() -> list[str]:
        found = (it for it in operator.exchanges(seen) if (it["call"], it["status"]) == ("verify", 200))
        return [it["request_id"] for it in found]

    def state_of(flow_run: str) -> str:
        return str(composed.api.get(f"/flow_runs/{flow_run}").json()["state_name"])

    flow_runs = [composed.started("nightly"), composed.started(other)]
    composed.wait_for(lambda: len(set(composed.results.glob("_runs/*/journal/*")) - before) == 2, "answers of both")
    worker = composed.parts.processes.pop("worker")
    worker.terminate()
    if kind == "unit":
        composed.wait_for(lambda: {*map(state_of, flow_runs)} == {"Interrupted"}, "two ends")
        composed.parts.processes["prefect"].send_signal(signal.SIGSTOP)
    worker.wait(LONGEST_END_SECONDS)
    composed.parts.processes["prefect"].send_signal(signal.SIGCONT)

    with pytest.raises(ProcessLookupError):  # nothing of it is left
        os.killpg(worker.pid, signal.SIGKILL)
    assert [*map(state_of, flow_runs)] == ["Interrupted"] * 2, composed.parts.output("worker")[-3000:]
    answered = {row["verify_request_id"] for row in composed.verdicts()}
    assert set(verified()) <= answered
    assert len(verified()) < sum(each.verdict is not None for each in files)
    operator.clear_faults()
    composed.start("worker")
    assert [composed.run_of(name)["state_name"] for name in ("nightly", other)] == ["Completed"] * 2
