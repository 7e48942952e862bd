"""After days without a worker, the first flow run stands for all that were missed."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from ..worlds.sandbox_world import SandboxWorld
from ..worlds.waiting import wait_for


def test_the_first_run_cancels_the_other_missed_ones(
    world: SandboxWorld, api: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs that are due by the schedule are cancelled; later ones and a person's own run stay."""
    from proofsweep_tasks.missed_schedules import cancel_missed_runs  # noqa: PLC0415 - Prefect reads its settings on import

    flow_id = api.post("/flows/", json={"name": "verify-catalog"}).raise_for_status().json()["id"]
    schedule = {"schedule": {"interval": 2.0}, "active": True}
    facts = {"name": world.folder.name, "flow_id": flow_id, "schedules": [schedule]}
    deployment = api.post("/deployments/", json=facts).raise_for_status().json()["id"]
    own = api.post(f"/deployments/{deployment}/create_flow_run", json={}).raise_for_status().json()["id"]

    def runs(*names: str) -> list[dict[str, Any]]:
        wanted = {"deployment_id": {"any_": [deployment]}, "state": {"name": {"any_": list(names)}}}
        found: list[dict[str, Any]] = api.post("/flow_runs/filter", json={"flow_runs": wanted}).json()
        return found

    def due() -> list[str]:
        now = datetime.now(UTC).isoformat()
        return [run["id"] for run in runs("Scheduled", "Late") if run["auto_scheduled"] and _when(run) < now]

    wait_for(lambda: len(due()) >= 3)
    missed = due()
    monkeypatch.setenv("PREFECT__RUNTIME__DEPLOYMENT__ID", deployment)
    cancel_missed_runs()

    cancelled = runs("Cancelled")
    api.delete(f"/deployments/{deployment}").raise_for_status()
    assert set(missed) <= {run["id"] for run in cancelled}
    assert all(run["auto_scheduled"] and _when(run) <= datetime.now(UTC).isoformat() for run in cancelled)
    assert own not in {run["id"] for run in cancelled}


def test_a_server_that_fails_keeps_nobody_from_the_work(world: SandboxWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one on SQLite does while its database is locked."""
    from prefect import flow  # noqa: PLC0415 - Prefect reads its settings on import
    from prefect.client.schemas.objects import State  # noqa: PLC0415
    from prefect.states import Completed  # noqa: PLC0415

    from proofsweep_flows.ended_flow import ended_flow  # noqa: PLC0415
    from proofsweep_tasks import missed_schedules  # noqa: PLC0415

    def locked(**_options: object) -> None:
        raise httpx.ReadTimeout("locked")

    monkeypatch.setattr(missed_schedules, "get_client", locked)
    monkeypatch.setenv("PREFECT__RUNTIME__DEPLOYMENT__ID", "00000000-0000-0000-0000-000000000001")

    @flow(name="check-alerts", persist_result=False)
    def work() -> State[None]:
        return ended_flow(None, world.results_url, lambda _settings: Completed(message="done"))

    assert work(return_state=True).message == "done"


def _when(run: dict[str, Any]) -> str:
    """Return when a run was scheduled, as text that sorts by time."""
    return datetime.fromisoformat(run["expected_start_time"]).astimezone(UTC).isoformat()
