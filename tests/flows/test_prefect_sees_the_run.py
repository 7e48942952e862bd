"""With a Prefect server configured, the server shows the run."""

import logging
import threading

import httpx
import pytest

from proofsweep.logs import LOGGER, Event, log

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


def test_what_a_thread_of_the_flow_run_logs_is_in_prefect_too(
    world: SandboxWorld, api: httpx.Client, recwarn: pytest.WarningsRecorder
) -> None:
    """Prefect knows the flow run of its own threads only, and would warn of the others."""
    from prefect import flow  # noqa: PLC0415 - Prefect reads its settings on import
    from prefect.client.schemas.objects import State  # noqa: PLC0415
    from prefect.logging.handlers import APILogHandler  # noqa: PLC0415
    from prefect.runtime import flow_run  # noqa: PLC0415
    from prefect.states import Completed  # noqa: PLC0415

    from proofsweep_flows.ended_flow import ended_flow  # noqa: PLC0415

    def work(_settings: object) -> State[None]:
        thread = threading.Thread(target=log, args=(Event.STOP_REQUESTED,), kwargs={"signal": world.folder.name})
        thread.start()
        thread.join()
        return Completed(message=flow_run.get_id())

    @flow(name="check-alerts", persist_result=False)
    def logs_in_a_thread() -> State[None]:
        return ended_flow(None, world.results_url, work)

    logging.getLogger(LOGGER).addHandler(handler := APILogHandler())
    mine = {"flow_run_id": {"any_": [logs_in_a_thread(return_state=True).message]}}
    logging.getLogger(LOGGER).removeHandler(handler)

    def lines() -> list[str]:
        return [line["message"] for line in api.post("/logs/filter", json={"logs": mine}).json()]

    wait_for(lambda: any(world.folder.name in line for line in lines()), lines)
    assert not [each for each in recwarn if "flow run id" in str(each.message)]


def test_a_flow_that_is_given_a_catalog_plans_and_verifies_it(
    world: SandboxWorld, samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deployment starts the flow without our command line."""
    from proofsweep_flows.verify_catalog import verify_catalog  # noqa: PLC0415 - Prefect reads its settings on import

    monkeypatch.setenv("PROOFSWEEP_RESULTS__URL", str(world.results))

    run_id = verify_catalog(catalog=world.manifest(samples.files[:5]))

    assert {row["run_id"] for row in world.rows()} == {run_id}
    assert len(world.rows()) == 5
