"""A run that is cancelled in Prefect's UI publishes what it finished, and Prefect calls it cancelled."""

import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import httpx
import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld
from ..worlds.waiting import wait_for

ROWS = 1_500
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


class RetryingTransport(httpx.HTTPTransport):
    """Sends a request again while the server's SQLite is locked, as Prefect's own client does."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send until the database is free."""
        responses: list[httpx.Response] = []

        def is_served() -> bool:
            responses.append(super(RetryingTransport, self).handle_request(request))
            is_locked = responses[-1].status_code == httpx.codes.SERVICE_UNAVAILABLE
            if is_locked:
                responses.pop().close()
            return not is_locked

        wait_for(is_served)
        return responses[-1]


@pytest.fixture
def api(prefect_url: str) -> Iterator[httpx.Client]:
    """A client of the Prefect server's API, which its UI uses too."""
    with httpx.Client(base_url=prefect_url, transport=RetryingTransport()) as client:
        yield client


@pytest.fixture
def deployment(world: SandboxWorld, api: httpx.Client) -> Iterator[str]:
    """Deploy the flow into a pool of its own, and start a worker; give the deployment's id."""
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
    world: SandboxWorld, samples: Samples, api: httpx.Client, deployment: str
) -> None:
    """Items in progress finish; the receipt and Prefect agree on the ending, and `resume` does the rest."""
    world.operator.set_lane(60, 60)  # slow, so that rows remain when the run is cancelled
    catalog = world.manifest(islice(cycle(samples.files), ROWS))
    parameters = {"catalog": catalog, "results": str(world.results)}
    path = f"/deployments/{deployment}/create_flow_run"
    run_id = api.post(path, json={"parameters": parameters}).raise_for_status().json()["id"]
    world.wait_for(lambda: world.journalled(1))

    cancelling = {"state": {"type": "CANCELLING", "name": "Cancelling"}}
    api.post(f"/flow_runs/{run_id}/set_state", json=cancelling).raise_for_status()
    world.wait_for(lambda: api.get(f"/flow_runs/{run_id}").json()["state_type"] in ENDED)
    state = api.get(f"/flow_runs/{run_id}").json()["state_type"]
    (cancelled,) = world.legs()
    published = len(world.rows())
    world.operator.set_lane(2000, 4000)
    code = world.run("resume")

    assert state == "CANCELLED", (world.folder / "worker.txt").read_text()
    assert cancelled["ended_by"] == "cancelled"
    assert 0 < published == ROWS - cancelled["remaining"] < ROWS
    assert code == 3
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
