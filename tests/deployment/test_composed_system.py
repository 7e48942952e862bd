"""The system of docker-compose.yml verifies a catalog without any command."""

from pathlib import Path
from typing import Any

import httpx
import pyarrow.dataset

from .composed_system import ComposedSystem


def deployment(composed: ComposedSystem, name: str) -> dict[str, Any]:
    """Ask the server for a deployment."""
    answer = composed.api.get(f"/deployments/name/verify-catalog/{name}").raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def run_of(composed: ComposedSystem, name: str) -> dict[str, Any]:
    """Start a run of a deployment, and wait for its end."""
    path = f"/deployments/{deployment(composed, name)['id']}/create_flow_run"
    run_id = composed.api.post(path, json={}).raise_for_status().json()["id"]
    ended = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
    composed.wait_for(lambda: composed.api.get(f"/flow_runs/{run_id}").json()["state_type"] in ended, f"end of {name}")
    found: dict[str, Any] = composed.api.get(f"/flow_runs/{run_id}").json()
    return found


def test_the_nightly_run_leaves_verdicts(composed: ComposedSystem) -> None:
    """From the server's API through the worker to the tables: every sample has its row."""
    run = run_of(composed, "nightly")

    place = "proofsweep/sandbox/verdicts"
    verdicts = pyarrow.dataset.dataset(place, format="parquet", filesystem=composed.files).to_table().to_pylist()
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
        assert found["entrypoint"] == "flows.verify_catalog.verify_catalog"
        assert set(found["parameters"]) == {"catalog", "config"}
        assert found["pull_steps"] in (None, [])


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
