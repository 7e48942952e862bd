"""The system of docker-compose.yml as its server knows it; test_workers_end.py has its runs."""

from pathlib import Path

import httpx
import pytest
import yaml

from .composed_system import ComposedSystem
from .native_compose import ROOT


@pytest.mark.parametrize(("name", "flow"), [("nightly", "verify_catalog"), ("ingest", "check_ingest")])
def test_scheduled_deployments_are_known_to_the_server(composed: ComposedSystem, name: str, flow: str) -> None:
    """A deployment has a schedule in a named time zone, one run at a time, and only names as parameters.

    The server plans its next runs ahead.
    """
    found = composed.deployment(name, flow)
    wanted = {"deployment_id": {"any_": [found["id"]]}, "state": {"type": {"any_": ["SCHEDULED"]}}}

    def planned() -> list[object]:
        return list(composed.api.post("/flow_runs/filter", json={"flow_runs": wanted}).json())

    composed.wait_for(lambda: len(planned()) > 1, f"scheduled runs of {name}")
    (schedule,) = found["schedules"]
    assert schedule["active"]
    assert schedule["schedule"]["cron"]
    assert schedule["schedule"]["timezone"] == "UTC"
    assert found["global_concurrency_limit"]["limit"] == 1
    assert found["entrypoint"] == f"proofsweep_flows.{flow}.{flow}"
    assert set(found["parameters"]) - {"catalog", "folder", "max_age"} == {"config"}
    assert found["pull_steps"] == [{"prefect.deployments.steps.set_working_directory": {"directory": "."}}]


def test_the_automations_are_known_to_the_server(composed: ComposedSystem) -> None:
    """Those that crash a silent flow run and run it again; tests/flows/test_crashed_runs.py shows what they do."""
    shipped = yaml.safe_load((ROOT / "deploy" / "automations.yaml").read_text())["automations"]

    known = composed.api.post("/automations/filter", json={}).raise_for_status().json()

    assert {each["name"]: each["enabled"] for each in known} == {each["name"]: True for each in shipped}


def test_the_server_requires_its_login_and_keeps_its_records_in_the_database(composed: ComposedSystem) -> None:
    """Without the login, a client can read the health and nothing else. A file would be lost with a container."""
    with httpx.Client(base_url=composed.api.base_url, trust_env=False) as stranger:
        assert stranger.get("/health").status_code == 200
        assert stranger.post("/deployments/filter", json={}).status_code == 401
    assert not list(composed.parts.folder.rglob("prefect.db"))


def test_no_service_prints_a_secret(composed: ComposedSystem, made_secrets: Path) -> None:
    """A container engine may send logs anywhere."""
    secrets = [path.read_text().strip().rpartition(":")[2] for path in made_secrets.iterdir()]

    printed = "".join(path.read_text(errors="replace") for path in composed.parts.folder.glob("*.txt"))

    assert printed
    assert [secret for secret in secrets if secret in printed] == []
