"""A worker that is stopped lets its runs end.

tests/flows/test_crashed_runs.py has the run of a worker that is killed.
"""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox

from .composed_system import ComposedSystem

FILES = 40
LONGEST_END_SECONDS = 12.0 + 10.0
"""What `bounds.drain_seconds` gives to the files in flight, and ten seconds more."""


@pytest.fixture
def operator(composed: ComposedSystem) -> Iterator[sandbox.Operator]:
    """The partner's operator; no fault is left behind.

    No pass over the deliveries begins by its schedule, which would verify files too.
    """
    ingest = composed.deployment("ingest", "check_ingest")["id"]
    composed.api.patch(f"/deployments/{ingest}", json={"paused": True}).raise_for_status()
    with sandbox.Operator(f"http://127.0.0.1:{composed.parts.ports['8727']}") as operator:
        yield operator
        operator.clear_faults()
        operator.set_lane(2_000, 4_000)


def new_catalog(composed: ComposedSystem, operator: sandbox.Operator, name: str, seed: int) -> int:
    """Put another catalog beside that of the nightly deployment, or in its place; say how many files can be sent."""
    folder = composed.parts.place("/var/lib/proofsweep/catalog").with_name(name)
    shutil.rmtree(folder, ignore_errors=True)
    samples = sandbox.write_catalog(folder, operator, files=FILES, seed=seed)
    return sum(sample.verdict is not None for sample in samples)


def verified(operator: sandbox.Operator, after: int) -> list[str]:
    """Return the request IDs of the verifications that the service answered."""
    found = (it for it in operator.exchanges(after) if (it["call"], it["status"]) == ("verify", 200))
    return [it["request_id"] for it in found]


def segments_of(composed: ComposedSystem) -> set[Path]:
    """Name the segments of verdicts in all journals; a settled leg has none left."""
    return set(composed.results.glob("_runs/*/journal/*/verdicts-*"))


@pytest.mark.timeout(400)
def test_a_stopped_worker_lets_its_two_runs_end(composed: ComposedSystem, operator: sandbox.Operator) -> None:
    """The files in flight are finished, all answers are published, and both flow runs are Interrupted, not Running."""
    to_send = sum(new_catalog(composed, operator, name, seed) for seed, name in enumerate(["catalog", "other"], 5))
    composed.another_deployment("nightly", "other")
    seen, before = operator.exchanges()[-1]["seq"], segments_of(composed)
    operator.set_lane(rate=4, burst=4)  # one run alone would take 17 seconds

    def states() -> list[str]:
        return [composed.api.get(f"/flow_runs/{each}").json()["state_name"] for each in flow_runs]

    def runs_with_answers() -> set[str]:
        return {segment.parts[-4] for segment in segments_of(composed) - before}

    flow_runs = [composed.started("nightly"), composed.started("other")]
    composed.wait_for(lambda: len(runs_with_answers()) == 2, "answers of both")
    worker = composed.parts.processes.pop("worker")
    worker.terminate()
    worker.wait(LONGEST_END_SECONDS)

    with pytest.raises(ProcessLookupError):  # nothing of it is left
        os.killpg(worker.pid, signal.SIGKILL)
    composed.start("worker")
    assert states() == ["Interrupted"] * 2, composed.parts.output("worker")[-3000:]
    answered = {row["verify_request_id"] for row in composed.verdicts()}
    assert set(verified(operator, seen)) <= answered
    assert len(verified(operator, seen)) < to_send
