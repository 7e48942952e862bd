"""Five nights over a catalog of four quotas: after two kills and an outage it is whole, and nothing was done twice."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import proofsweep_sandbox as sandbox

from .composed_system import ComposedSystem, quick_crashes

FILES = 60
QUOTA = 30
"""Calls of one night; a file takes two."""
UNDISTURBED = 9
"""Files that are verified in a night before something is killed."""


@pytest.fixture
def operator(composed: ComposedSystem) -> Iterator[sandbox.Operator]:
    """The partner's operator; no fault and no quota is left behind."""
    with sandbox.Operator(f"http://127.0.0.1:{composed.parts.ports['8727']}") as operator:
        yield operator
        operator.clear_faults()
        operator.set_quota(1_000_000)


@pytest.fixture
def to_send(composed: ComposedSystem, operator: sandbox.Operator) -> int:
    """Put another catalog into the folder of the nightly deployment; say how many of its files can be sent.

    No pass over the deliveries begins by its schedule, which would verify files too.
    """
    ingest = composed.deployment("ingest", "check_ingest")["id"]
    composed.api.patch(f"/deployments/{ingest}", json={"paused": True}).raise_for_status()
    folder = composed.parts.place("/var/lib/proofsweep/catalog")
    shutil.rmtree(folder)
    samples = sandbox.write_catalog(folder, operator, files=FILES, seed=5)
    return sum(sample.verdict is not None for sample in samples)


def begin_night(composed: ComposedSystem, operator: sandbox.Operator) -> str:
    """Renew the quota, and start the nightly deployment; give its flow run."""
    (key,) = operator.usage()
    operator.set_quota(key["limit"] - key["remaining"] + QUOTA)
    return composed.started("nightly")


def segments_of(composed: ComposedSystem) -> set[Path]:
    """Name the segments of verdicts in all journals; a settled leg has none left."""
    return set(composed.results.glob("_runs/*/journal/*/verdicts-*"))


def night_until_answers(composed: ComposedSystem, operator: sandbox.Operator, count: int) -> str:
    """Begin a night, and wait until its journal has so many answers; give the flow run."""
    before = segments_of(composed)
    flow_run = begin_night(composed, operator)

    def has_answers() -> bool:
        return sum(answers_of(each) for each in segments_of(composed) - before) >= count

    composed.wait_for(has_answers, f"{count} answers in the journal")
    return flow_run


def answers_of(segment: Path) -> int:
    outcomes = pa.ipc.open_stream(segment.read_bytes()).read_all()["outcome"].to_pylist()
    return sum(outcome in {"accepted", "rejected"} for outcome in outcomes)


def night_without_server(composed: ComposedSystem, operator: sandbox.Operator) -> dict[str, Any]:
    """Kill the Prefect server in the middle of a run, and start it again."""
    operator.add_fault("uploads", "slow", seconds=12, after=4)
    flow_run = night_until_answers(composed, operator, 4)
    composed.kill("prefect")
    composed.start("prefect")
    ended = composed.ended(flow_run)
    operator.clear_faults()
    return ended


def night_without_worker(composed: ComposedSystem, operator: sandbox.Operator) -> dict[str, Any]:
    """Kill the worker with its flow run in the middle of a run; another worker is given the same flow run."""
    operator.add_fault("uploads", "hang", after=UNDISTURBED)
    flow_run = night_until_answers(composed, operator, UNDISTURBED)
    composed.kill("worker")
    with quick_crashes(composed.api, flow_run):
        assert composed.ended(flow_run)["state_name"] == "Crashed"
    operator.clear_faults()
    patience = {"PROOFSWEEP_RETRY__BREAKER_SECONDS": "2", "PROOFSWEEP_RETRY__LONGEST_WAIT_SECONDS": "0.5"}
    composed.parts.services["worker"]["environment"] |= patience
    composed.start("worker")
    composed.wait_for(lambda: composed.ended(flow_run)["state_type"] != "CRASHED", "another end")
    return composed.ended(flow_run)


def night_without_partner(composed: ComposedSystem, operator: sandbox.Operator) -> dict[str, Any]:
    """Kill the partner's service in the middle of a run, and start it again when the run has ended."""
    operator.add_fault("uploads", "hang", after=4)  # the night before may have left eight files
    flow_run = night_until_answers(composed, operator, 4)
    composed.kill("sandbox")
    ended = composed.ended(flow_run)
    composed.start("sandbox")
    return ended


@pytest.mark.timeout(600)  # five nights, and three processes that start again
def test_a_large_catalog_is_whole_after_five_bad_nights(
    composed: ComposedSystem, operator: sandbox.Operator, to_send: int
) -> None:
    """Each state is true, each file is verified once, and each row is in one part."""
    earlier = {row["run_id"] for row in composed.verdicts()}
    seen = operator.exchanges()[-1]["seq"]

    nights = [
        composed.ended(begin_night(composed, operator)),
        night_without_server(composed, operator),
        night_without_worker(composed, operator),
        night_without_partner(composed, operator),
        composed.ended(begin_night(composed, operator)),
    ]

    messages = [night["state"]["message"] for night in nights]
    states = [night["state_name"] for night in nights]
    assert states == ["QuotaSpent", "QuotaSpent", "QuotaSpent", "Outage", "Completed"], messages
    rows = [row for row in composed.verdicts() if row["run_id"] not in earlier]
    answered = [row["verify_request_id"] for row in rows if row["outcome"] in {"accepted", "rejected"}]
    verified = [it["request_id"] for it in operator.exchanges(seen) if (it["call"], it["status"]) == ("verify", 200)]
    assert 2 * to_send > 3 * QUOTA
    assert len(verified) == to_send
    assert sorted(answered) == sorted(verified)
    run = [row for row in rows if row["run_id"] == min(row["run_id"] for row in rows)]
    assert sorted(row["manifest_row"] for row in run) == list(range(len({row["item_id"] for row in rows})))
