"""The services of docker-compose.yml, running on this machine, as the tests use them."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from ..supervised import descendants
from ..worlds.command_world import rows_in
from ..worlds.waiting import wait_for
from .native_compose import Composition


@contextmanager
def quick_crashes(api: httpx.Client, flow_run: str) -> Iterator[None]:
    """Let the registered automations crash this flow run after ten seconds without heartbeat, and run it again soon.

    The flow run is dead, and what it sent before the automation was changed does not count: its last heartbeat is sent
    again. Others live, and their heartbeats are further apart.
    """
    automations = api.post("/automations/filter", json={}).raise_for_status().json()
    crash, gone = (
        next(each for each in automations if words in each["name"]) for words in ("without heartbeat", "are gone")
    )
    mine = {"match": {"prefect.resource.id": f"prefect.flow-run.{flow_run}"}, "within": 10}
    _change(api, gone, within=10)
    _change(api, crash, **mine)
    api.post("/events", json=[_heartbeat(api, flow_run)]).raise_for_status()
    yield
    _change(api, crash)


def _change(api: httpx.Client, automation: dict[str, Any], **trigger: object) -> None:
    usual = {name: automation[name] for name in ("name", "description", "enabled", "actions", "trigger")}
    changed = usual | {"trigger": usual["trigger"] | trigger}
    api.put(f"/automations/{automation['id']}", json=changed).raise_for_status()


def _heartbeat(api: httpx.Client, flow_run: str) -> dict[str, Any]:
    read = api.get(f"/flow_runs/{flow_run}").raise_for_status().json()
    flow = {"prefect.resource.id": f"prefect.flow.{read['flow_id']}", "prefect.resource.name": "verify-catalog"}
    deployment = {"prefect.resource.id": f"prefect.deployment.{read['deployment_id']}"}
    return {
        "id": str(uuid4()),
        "occurred": datetime.now(UTC).isoformat(),
        "event": "prefect.flow-run.heartbeat",
        "resource": {"prefect.resource.id": f"prefect.flow-run.{flow_run}"},
        "related": [flow | {"prefect.resource.role": "flow"}, deployment | {"prefect.resource.role": "deployment"}],
    }


@dataclass(slots=True)
class ComposedSystem:
    """The running services, and a client of the Prefect server's API."""

    parts: Composition
    api: httpx.Client

    def wait_for(self, holds: Callable[[], object], what: str) -> None:
        wait_for(holds, lambda: {what: {name: self.parts.output(name)[-2000:] for name in self.parts.processes}})

    def start(self, *names: str) -> None:
        """Start services together, and wait until each is healthy by its own check."""
        for name in names:
            assert not self.parts.is_healthy(name)
            self.parts.start(name)
        self.wait_for(lambda: all(map(self.parts.is_healthy, names)), f"{names} healthy")

    def kill(self, name: str) -> None:
        """Kill a service and the processes that it started, as a power cut would."""
        process = self.parts.processes.pop(name)
        for number in [process.pid, *descendants(process.pid)]:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        process.wait()

    def deployment(self, name: str, flow: str = "verify_catalog") -> dict[str, Any]:
        answer = self.api.get(f"/deployments/name/{flow.replace('_', '-')}/{name}").raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def another_deployment(self, name: str, catalog: str) -> str:
        """Deploy the flow of a deployment for another catalog too; give the new one's name, which is the catalog's."""
        usual = self.deployment(name)
        same = ("flow_id", "work_pool_name", "entrypoint", "pull_steps", "job_variables")
        own = {"name": catalog, "parameters": usual["parameters"] | {"catalog": catalog}}
        self.api.post("/deployments/", json={each: usual[each] for each in same} | own).raise_for_status()
        return catalog

    def started(self, name: str) -> str:
        path = f"/deployments/{self.deployment(name)['id']}/create_flow_run"
        return str(self.api.post(path, json={}).raise_for_status().json()["id"])

    @property
    def results(self) -> Path:
        return self.parts.place("/var/lib/proofsweep/results")

    def verdicts(self) -> list[dict[str, Any]]:
        return rows_in(self.results)
