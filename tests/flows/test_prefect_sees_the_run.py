"""With a Prefect server configured, the server shows the run."""

import httpx
import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld
from ..worlds.waiting import wait_for


def test_the_run_its_log_lines_and_its_summary_are_in_prefect(
    world: SandboxWorld, samples: Samples, api: httpx.Client
) -> None:
    """The events are log lines of the flow run, and the summary is its artifact."""
    world.run("verify", world.manifest(samples.files[:12]))

    (leg,) = world.legs()
    flow_run = api.get(f"/flow_runs/{leg['flow_run_id']}").json()
    mine = {"flow_run_id": {"any_": [leg["flow_run_id"]]}}
    artifacts = api.post("/artifacts/filter", json={"artifacts": mine}).json()

    def lines() -> list[str]:
        return [line["message"] for line in api.post("/logs/filter", json={"logs": mine}).json()]

    assert flow_run["state_name"] == "Completed"
    assert flow_run["parameters"]["run_id"] == leg["run_id"]
    wait_for(lambda: any("leg_opened" in line for line in lines()), lines)
    assert [artifact["key"] for artifact in artifacts] == ["proofsweep-summary"]
    assert "12 of 12 rows finished" in artifacts[0]["data"]


def test_a_flow_that_is_given_a_catalog_plans_and_verifies_it(
    world: SandboxWorld, samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deployment starts the flow without our command line."""
    from proofsweep_flows.verify_catalog import verify_catalog  # noqa: PLC0415 - Prefect reads its settings on import

    monkeypatch.setenv("PROOFSWEEP_RESULTS__URL", str(world.results))

    run_id = verify_catalog(catalog=world.manifest(samples.files[:5]))

    assert {row["run_id"] for row in world.rows()} == {run_id}
    assert len(world.rows()) == 5
