"""The system of docker-compose.yml verifies a catalog without any command, also after a process was killed."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow.dataset
import pytest
from pyarrow.fs import FileSelector

import sandbox

from .composed_system import ComposedSystem

FLOWS = {"nightly": "verify_catalog", "ingest": "check_ingest"}
"""The flow of each deployment."""

ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


def deployment(composed: ComposedSystem, name: str) -> dict[str, Any]:
    """Ask the server for a deployment."""
    answer = composed.api.get(f"/deployments/name/{FLOWS[name].replace('_', '-')}/{name}").raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def started(composed: ComposedSystem, name: str) -> str:
    """Start a run of a deployment; give its id."""
    path = f"/deployments/{deployment(composed, name)['id']}/create_flow_run"
    return str(composed.api.post(path, json={}).raise_for_status().json()["id"])


def ended(composed: ComposedSystem, run_id: str) -> dict[str, Any]:
    """Wait for the end of a flow run; give what the server says of it."""
    path = f"/flow_runs/{run_id}"
    composed.wait_for(lambda: composed.api.get(path).json().get("state_type") in ENDED, f"end of {run_id}")
    found: dict[str, Any] = composed.api.get(path).json()
    return found


def run_of(composed: ComposedSystem, name: str) -> dict[str, Any]:
    """Start a run of a deployment, and wait for its end."""
    return ended(composed, started(composed, name))


def verdicts_of(composed: ComposedSystem) -> list[dict[str, Any]]:
    """Read all verdicts in the store."""
    place = "proofsweep/sandbox/verdicts"
    found = pyarrow.dataset.dataset(place, format="parquet", filesystem=composed.files).to_table().to_pylist()
    return list(found)


def wait_for_first_rows(composed: ComposedSystem) -> None:
    """Wait until the present leg has written rows to its journal; that of a settled leg is deleted."""
    runs = FileSelector("proofsweep/sandbox/_runs", recursive=True)
    composed.wait_for(
        lambda: any(
            "/journal/" in file.path and "verdicts-" in file.path for file in composed.files.get_file_info(runs)
        ),
        "rows in the journal",
    )


def kill_with_children(pid: int) -> None:
    """Kill a process, its group and the processes that it started, as a power cut would."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    os.killpg(pid, signal.SIGKILL)
    for child in children:
        if Path(f"/proc/{child}").exists():
            os.kill(int(child), signal.SIGKILL)


@pytest.fixture
def slow_lane(composed: ComposedSystem) -> Iterator[sandbox.Operator]:
    """A lane in which a night lasts half a minute."""
    with sandbox.Operator(f"http://127.0.0.1:{composed.parts.ports['8727']}") as operator:
        operator.set_lane(4, 4)
        yield operator
        operator.set_lane(2000, 4000)


def test_the_nightly_run_leaves_verdicts(composed: ComposedSystem) -> None:
    """From the server's API through the worker to the tables: every sample has its row."""
    run = run_of(composed, "nightly")

    verdicts = verdicts_of(composed)
    assert run["state_type"] == "COMPLETED", composed.parts.output("worker")
    assert len(verdicts) == 60
    assert {row["outcome"] for row in verdicts} == {"accepted", "rejected", "ineligible"}


def test_scheduled_deployments_are_known_to_the_server(composed: ComposedSystem) -> None:
    """Each deployment has a schedule in a named time zone, one run at a time, and only names as parameters."""
    for name in ("nightly", "ingest"):
        found = deployment(composed, name)

        (schedule,) = found["schedules"]
        assert schedule["active"]
        assert schedule["schedule"]["cron"]
        assert schedule["schedule"]["timezone"] == "UTC"
        assert found["global_concurrency_limit"]["limit"] == 1
        assert found["entrypoint"] == f"flows.{FLOWS[name]}.{FLOWS[name]}"
        assert set(found["parameters"]) - {"catalog", "folder"} == {"config"}
        assert found["pull_steps"] in (None, [])


def test_schedules_make_runs(composed: ComposedSystem) -> None:
    """The server plans the next runs of each deployment ahead."""
    for name in ("nightly", "ingest"):
        wanted = {
            "deployment_id": {"any_": [deployment(composed, name)["id"]]},
            "state": {"type": {"any_": ["SCHEDULED"]}},
        }
        composed.wait_for(
            lambda wanted=wanted: len(composed.api.post("/flow_runs/filter", json={"flow_runs": wanted}).json()) > 1,  # type: ignore[misc]
            f"scheduled runs of {name}",
        )


def test_the_server_requires_its_login(composed: ComposedSystem) -> None:
    """Without the login, a client can read the health and nothing else."""
    with httpx.Client(base_url=composed.api.base_url, trust_env=False) as stranger:
        assert stranger.get("/health").status_code == 200
        assert stranger.post("/deployments/filter", json={}).status_code == 401


def test_the_server_keeps_its_records_in_the_database(composed: ComposedSystem) -> None:
    """A SQLite file would be lost with its container."""
    assert not list(composed.parts.folder.rglob("prefect.db"))


def test_starting_again_changes_nothing(composed: ComposedSystem) -> None:
    """`docker compose up` runs the one-shot services again: bucket, samples and deployments stay as they were."""
    before = deployment(composed, "nightly")["id"]

    assert composed.parts.run("bucket") == 0
    assert composed.parts.run("samples") == 0
    assert composed.parts.run("deployments") == 0
    assert deployment(composed, "nightly")["id"] == before


@pytest.mark.timeout(600)  # a night, and processes that start again
def test_a_killed_server_ends_no_run_and_blocks_no_night(composed: ComposedSystem, slow_lane: sandbox.Operator) -> None:
    """The run goes on, its state arrives at the next server, and the slot that it held is free for the next night."""
    disturbed = started(composed, "nightly")
    wait_for_first_rows(composed)
    server = composed.parts.processes.pop("prefect")
    kill_with_children(server.pid)
    server.wait()
    composed.start("prefect")
    first = ended(composed, disturbed)
    slow_lane.set_lane(2000, 4000)
    second = run_of(composed, "nightly")

    assert (first["state_name"], second["state_name"]) == ("Completed", "Completed"), composed.parts.output("worker")
    assert first["run_count"] == 1


@pytest.mark.timeout(600)  # a night, and processes that start again
def test_a_run_whose_worker_is_gone_is_crashed_and_continued(
    composed: ComposedSystem, slow_lane: sandbox.Operator
) -> None:
    """The automation that is registered crashes it, here sooner; the next night verifies only what remains."""
    (zombies,) = composed.api.post("/automations/filter", json={}).raise_for_status().json()
    soon = {name: zombies[name] for name in ("name", "description", "enabled", "actions", "trigger")}
    soon["trigger"]["within"] = 10
    composed.api.put(f"/automations/{zombies['id']}", json=soon).raise_for_status()
    before = {row["run_id"] for row in verdicts_of(composed)}
    lost = started(composed, "nightly")
    wait_for_first_rows(composed)
    worker = composed.parts.processes.pop("worker")
    kill_with_children(worker.pid)
    worker.wait()
    crashed = ended(composed, lost)
    slow_lane.set_lane(2000, 4000)
    composed.api.delete(f"/automations/{zombies['id']}").raise_for_status()
    composed.start("worker")
    next_night = run_of(composed, "nightly")

    rows = [(row["run_id"], row["manifest_row"]) for row in verdicts_of(composed) if row["run_id"] not in before]
    assert (crashed["state_type"], "heartbeat" in crashed["state"]["message"]) == ("CRASHED", True)
    assert next_night["state_name"] == "Completed", composed.parts.output("worker")
    assert len(rows) == len(set(rows)) == 120  # the lost run, whole, and another one of the whole catalog


def test_no_service_prints_a_secret(composed: ComposedSystem, made_secrets: Path) -> None:
    """A container engine may send logs anywhere."""
    secrets = [path.read_text().strip().rpartition(":")[2] for path in made_secrets.iterdir()]

    printed = "".join(path.read_text(errors="replace") for path in composed.parts.folder.glob("*.txt"))

    assert printed
    assert [secret for secret in secrets if secret in printed] == []


def test_a_service_that_is_down_is_unhealthy(composed: ComposedSystem) -> None:
    """Each health check that succeeds here can also fail."""
    for name in ("worker", "sandbox", "prefect"):
        composed.parts.stop(name)
        assert not composed.parts.is_healthy(name)
