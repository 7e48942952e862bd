"""A run that is cancelled in Prefect's UI, or stopped from a terminal, publishes what it finished, and is cancelled."""

from itertools import cycle, islice

import httpx

from ..worlds.sandbox_world import Samples, SandboxWorld

ROWS = 300
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


def test_the_run_is_cancelled_published_and_resumed(
    world: SandboxWorld, samples: Samples, api: httpx.Client, deployment: str
) -> None:
    """Items in progress finish; the receipt and Prefect agree on the ending, and the rest is done later.

    The first flow run is cancelled in Prefect. The second goes on, and is stopped through the results store.
    """
    world.operator.set_lane(12, 12)  # slow, so that rows remain when the run is cancelled
    catalog = world.manifest(islice(cycle(samples.files), ROWS))
    parameters = {"catalog": catalog, "results": str(world.results)}
    path = f"/deployments/{deployment}/create_flow_run"

    def begun(leg: int) -> str:
        flow_run = api.post(path, json={"parameters": parameters}).raise_for_status().json()
        world.wait_for(lambda: world.journalled(leg))
        return str(flow_run["id"])

    def state_of(flow_run_id: str) -> str:
        world.wait_for(lambda: api.get(f"/flow_runs/{flow_run_id}").json()["state_type"] in ENDED)
        return str(api.get(f"/flow_runs/{flow_run_id}").json()["state_name"])

    first = begun(1)
    cancelling = {"state": {"type": "CANCELLING", "name": "Cancelling"}}
    api.post(f"/flow_runs/{first}/set_state", json=cancelling).raise_for_status()
    states = [state_of(first)]
    (cancelled,) = world.legs()
    published = len(world.rows())
    second = begun(2)
    stopped = world.run("stop")
    states.append(state_of(second))
    world.operator.set_lane(2000, 4000)
    code = world.run("resume")

    assert states == ["Cancelled", "Cancelled"], (world.folder / "worker.txt").read_text()
    assert 0 < published == ROWS - cancelled["remaining"] < ROWS
    assert (stopped, code) == (0, 3)
    assert [leg["ended_by"] for leg in world.legs()] == ["cancelled", "cancelled", "complete"]
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
