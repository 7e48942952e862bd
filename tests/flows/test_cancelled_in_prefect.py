"""A run that is cancelled in Prefect's UI ends in good order, and Prefect calls it cancelled."""

import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import httpx
import pytest

import sandbox

Samples = tuple[Path, list[sandbox.Sample]]
World = Any

ROWS = 1_500
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


class Patient(httpx.HTTPTransport):
    """Asks again while the server's SQLite is locked, as Prefect's own client does."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Ask until there is an answer."""
        while (response := super().handle_request(request)).status_code == httpx.codes.SERVICE_UNAVAILABLE:
            response.close()
            time.sleep(0.2)
        return response


@pytest.fixture
def api(prefect_url: str) -> Iterator[httpx.Client]:
    """Talk to the Prefect server as its UI does."""
    with httpx.Client(base_url=prefect_url, transport=Patient()) as client:
        yield client


@pytest.fixture
def deployment(world: World, api: httpx.Client) -> Iterator[str]:
    """Deploy the flow into a pool of its own, whose worker is starting; give the deployment's id."""
    pool = world.folder.name
    api.post("/work_pools/", json={"name": pool, "type": "process"}).raise_for_status()
    flow_id = api.post("/flows/", json={"name": "verify-catalog"}).raise_for_status().json()["id"]
    facts = {
        "name": pool,
        "flow_id": flow_id,
        "work_pool_name": pool,
        "entrypoint": "flows.verify_catalog.verify_catalog",
        "path": str(Path(__file__).parents[2]),
    }
    made = api.post("/deployments/", json=facts).raise_for_status().json()["id"]
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", pool, "--type", "process"]
    with (world.folder / "worker.txt").open("w") as log:
        worker = subprocess.Popen(command, stdout=log, stderr=log)
    yield str(made)
    worker.terminate()
    try:
        worker.wait(timeout=30)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()


def test_the_run_is_cancelled_published_and_resumed(
    world: World, samples: Samples, api: httpx.Client, deployment: str
) -> None:
    """What is in hand is finished; the receipt and Prefect agree on how it ended, and `resume` does the rest."""
    world.operator.set_lane(60, 60)  # so that there is something left to cancel
    catalog = world.manifest(islice(cycle(samples[1]), ROWS))
    parameters = {"catalog": catalog, "results": str(world.results)}
    path = f"/deployments/{deployment}/create_flow_run"
    run_id = api.post(path, json={"parameters": parameters}).raise_for_status().json()["id"]
    world.wait_for(lambda: world.journalled(1))

    cancelling = {"state": {"type": "CANCELLING", "name": "Cancelling"}}
    api.post(f"/flow_runs/{run_id}/set_state", json=cancelling).raise_for_status()
    world.wait_for(lambda: api.get(f"/flow_runs/{run_id}").json()["state_type"] in ENDED)
    state = api.get(f"/flow_runs/{run_id}").json()["state_type"]
    (cancelled,) = world.table("runs")
    published = len(world.rows())
    world.operator.set_lane(2000, 4000)
    code = world.run("resume")

    assert state == "CANCELLED", (world.folder / "worker.txt").read_text()
    assert cancelled["ended_by"] == "cancelled"
    assert 0 < published == ROWS - cancelled["remaining"] < ROWS
    assert code == 3
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
