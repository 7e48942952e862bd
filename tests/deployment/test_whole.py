"""The whole, as docker-compose.yml describes it, verifies a catalog by itself."""

from typing import Any

import httpx
import pyarrow.dataset

Whole = Any


def deployment(whole: Whole, name: str) -> dict[str, Any]:
    """Ask the server for a deployment."""
    answer = whole.api.get(f"/deployments/name/verify-catalog/{name}").raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def run_of(whole: Whole, name: str) -> dict[str, Any]:
    """Have a deployment run now, and wait for its end."""
    path = f"/deployments/{deployment(whole, name)['id']}/create_flow_run"
    run_id = whole.api.post(path, json={}).raise_for_status().json()["id"]
    ended = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
    whole.wait_for(lambda: whole.api.get(f"/flow_runs/{run_id}").json()["state_type"] in ended, f"end of {name}")
    found: dict[str, Any] = whole.api.get(f"/flow_runs/{run_id}").json()
    return found


def test_the_nightly_run_leaves_verdicts(whole: Whole) -> None:
    """From the server's API through the worker to the tables: every sample has its row."""
    run = run_of(whole, "nightly")

    place = "proofsweep/results/verdicts"
    verdicts = pyarrow.dataset.dataset(place, format="parquet", filesystem=whole.files).to_table().to_pylist()
    assert run["state_type"] == "COMPLETED", whole.parts.said("worker")
    assert len(verdicts) == 60
    assert {row["outcome"] for row in verdicts} == {"accepted", "rejected", "ineligible"}


def test_what_runs_by_itself_is_known_to_the_server(whole: Whole) -> None:
    """Each deployment has a schedule in a named time zone, one run at a time, and no more than names for parameters."""
    for name in ("nightly", "ingest"):
        found = deployment(whole, name)

        (schedule,) = found["schedules"]
        assert schedule["active"]
        assert schedule["schedule"]["cron"]
        assert schedule["schedule"]["timezone"] == "UTC"
        assert found["global_concurrency_limit"]["limit"] == 1
        assert found["entrypoint"] == "flows.verify_catalog.verify_catalog"
        assert set(found["parameters"]) == {"catalog", "config"}
        assert found["pull_steps"] in (None, [])


def test_the_server_asks_for_its_login(whole: Whole) -> None:
    """Who reaches the port without the login learns whether it is up, and nothing else."""
    with httpx.Client(base_url=whole.api.base_url, trust_env=False) as stranger:
        assert stranger.get("/health").status_code == 200
        assert stranger.post("/deployments/filter", json={}).status_code == 401


def test_the_server_keeps_its_records_in_the_database(whole: Whole) -> None:
    """SQLite in the container would be gone with it."""
    assert not list(whole.parts.folder.rglob("prefect.db"))


def test_starting_again_changes_nothing(whole: Whole) -> None:
    """`docker compose up` runs the services that end once more: bucket, samples and deployments are what they were."""
    before = deployment(whole, "nightly")["id"]

    assert whole.parts.run("bucket") == 0
    assert whole.parts.run("samples") == 0
    assert whole.parts.run("deployments") == 0
    assert deployment(whole, "nightly")["id"] == before


def test_no_service_says_a_secret(whole: Whole, made_secrets: Any) -> None:  # noqa: ANN401
    """Logs go wherever the engine sends them."""
    secrets = [path.read_text().strip().rpartition(":")[2] for path in made_secrets.iterdir()]

    said = "".join(path.read_text(errors="replace") for path in whole.parts.folder.glob("*.txt"))

    assert said
    assert [secret for secret in secrets if secret in said] == []


def test_a_service_that_is_down_is_unhealthy(whole: Whole) -> None:
    """Every check that was seen to succeed can fail."""
    for name in ("worker", "sandbox", "prefect"):
        whole.parts.stop(name)
        assert not whole.parts.is_healthy(name)
