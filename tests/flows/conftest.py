"""A sandbox, a Prefect server and a sample catalog for all tests here; each test has a key and a folder of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import proofsweep_sandbox as sandbox

from ..worlds.sandbox_world import Samples, SandboxWorld, open_account
from ..worlds.waiting import wait_for


@pytest.fixture(scope="session")
def samples(running: sandbox.Running, tmp_path_factory: pytest.TempPathFactory) -> Samples:
    """A catalog folder of 120 files with every verdict, and the verdict of each file."""
    folder = tmp_path_factory.mktemp("catalog")
    return Samples(folder, sandbox.write_catalog(folder, running.operator, files=120))


@pytest.fixture
def world(
    running: sandbox.Running, prefect_here: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SandboxWorld]:
    """Everything that a test needs to run commands against the shared servers."""
    assert prefect_here
    yield open_account(running, tmp_path, monkeypatch)
    running.operator.clear_faults()
    running.operator.set_lane(2000, 4000)


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
        "entrypoint": "proofsweep_flows.verify_catalog.verify_catalog",
        "pull_steps": [
            {"prefect.deployments.steps.set_working_directory": {"directory": str(Path(__file__).parents[2])}}
        ],
    }
    made = api.post("/deployments/", json=facts).raise_for_status().json()["id"]
    with working(world):
        yield str(made)


@contextmanager
def working(world: SandboxWorld) -> Iterator[None]:
    """Start a worker of the test's pool; it logs to `worker.txt`."""
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", world.folder.name, "--type", "process"]
    with (world.folder / "worker.txt").open("a") as log:
        worker = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield
    finally:
        worker.terminate()
        try:
            worker.wait(timeout=30)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


def begin(api: httpx.Client, deployment: str, world: SandboxWorld, catalog: str, **more: object) -> str:
    """Start a flow run of a deployment; give its ID."""
    parameters = {"catalog": catalog, "results": str(world.results)} | more
    answer = api.post(f"/deployments/{deployment}/create_flow_run", json={"parameters": parameters})
    return str(answer.raise_for_status().json()["id"])
