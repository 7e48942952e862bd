"""A run that is cancelled in Prefect's UI publishes what it finished, and Prefect calls it cancelled."""

from itertools import cycle, islice

import httpx

from ..worlds.sandbox_world import Samples, SandboxWorld

ROWS = 300
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


def test_the_run_is_cancelled_published_and_resumed(
    world: SandboxWorld, samples: Samples, api: httpx.Client, deployment: str
) -> None:
    """Items in progress finish; the receipt and Prefect agree on the ending, and `resume` does the rest."""
    world.operator.set_lane(12, 12)  # slow, so that rows remain when the run is cancelled
    catalog = world.manifest(islice(cycle(samples.files), ROWS))
    parameters = {"catalog": catalog, "results": str(world.results)}
    path = f"/deployments/{deployment}/create_flow_run"
    run_id = api.post(path, json={"parameters": parameters}).raise_for_status().json()["id"]
    world.wait_for(lambda: world.journalled(1))

    cancelling = {"state": {"type": "CANCELLING", "name": "Cancelling"}}
    api.post(f"/flow_runs/{run_id}/set_state", json=cancelling).raise_for_status()
    world.wait_for(lambda: api.get(f"/flow_runs/{run_id}").json()["state_type"] in ENDED)
    state = api.get(f"/flow_runs/{run_id}").json()["state_name"]
    (cancelled,) = world.legs()
    published = len(world.rows())
    world.operator.set_lane(2000, 4000)
    code = world.run("resume")

    assert state == "Cancelled", (world.folder / "worker.txt").read_text()
    assert cancelled["ended_by"] == "cancelled"
    assert 0 < published == ROWS - cancelled["remaining"] < ROWS
    assert code == 3
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
