"""A flow run whose process is killed is run again at once, by any worker, a few times, and pays for nothing twice."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import cycle, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from proofsweep_cli.embedded_server import ONE_RUN
from proofsweep_cli.prefect_api import prefect_api

from ..worlds.sandbox_world import Samples, SandboxWorld
from ..worlds.waiting import wait_for
from .conftest import begin, working

ROWS = 40
IN_FLIGHT = 16
"""Files that are on their way at a kill, at most: the deployment's workers in this test."""
MOST_CALLS = 70
"""Of one flow run: fewer than the 80 of the catalog."""

# On a machine with five times more work than processors the second report of a killed process comes after
# 30 s, and Gone a minute later. No wait should come near it.
LONGEST_WAIT_SECONDS = 360.0

# Of 75, 45 and 30: on a machine that has time, a worker's second report of a killed process comes a second after the
# first. Prefect takes no less.
SOON_SECONDS = 15

SERVICES = ("EVENT_PERSISTER_ENABLED", "TRIGGERS_ENABLED")
"""What a server has that others keep, and a command's own lacks."""

pytestmark = pytest.mark.timeout(1200)  # workers start processes, each with Prefect


@pytest.fixture(scope="module")
def prefect_url() -> Iterator[str]:
    """A server of these tests' own, which looks each second for what did not happen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ONE_RUN, "PREFECT_SERVER_EVENTS_PROACTIVE_GRANULARITY", "PT1S")
        for service in SERVICES:
            patch.setitem(ONE_RUN, f"PREFECT_SERVER_SERVICES_{service}", "true")
        with prefect_api() as server:
            assert server is not None
            del os.environ["PREFECT_API_URL"]
            server.wait_until_up()
            yield server.url


@pytest.fixture
def catalog(world: SandboxWorld, samples: Samples, monkeypatch: pytest.MonkeyPatch) -> str:
    """Forty valid files, two calls each, at a service that is slow after some."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", str(IN_FLIGHT))
    world.operator.add_fault("verify", "slow", after=8, seconds=1.0)
    return world.manifest(islice(cycle(samples.valid), ROWS))


def shipped_automations() -> list[dict[str, Any]]:
    """Read the automations that are shipped, which wait less here."""
    found = yaml.safe_load((Path(__file__).parents[2] / "deploy" / "automations.yaml").read_text())["automations"]
    for each in found[:4]:
        if each["trigger"]["posture"] == "Proactive":
            each["trigger"]["within"] = SOON_SECONDS
    return list(found)


@contextmanager
def made(*automations: dict[str, Any]) -> Iterator[None]:
    """Make automations at the server, and delete them in the end."""
    from prefect import get_client  # noqa: PLC0415 - Prefect reads its settings on import
    from prefect.events.schemas.automations import AutomationCore  # noqa: PLC0415

    with get_client(sync_client=True) as client:
        ids = [client.create_automation(AutomationCore.model_validate(each)) for each in automations]
        yield
        for each in ids:
            client.delete_automation(each)


def run_of(api: httpx.Client, flow_run: str) -> dict[str, Any]:
    read: dict[str, Any] = api.get(f"/flow_runs/{flow_run}").raise_for_status().json()
    return read


def process_of_leg(world: SandboxWorld, leg: int) -> int:
    """Wait until a leg has written down finished rows; give the number of its process."""
    wait_for(lambda: world.journalled(leg), (world.folder / "worker.txt").read_text)
    (begun,) = world.begun(leg)
    return int(begun["holder"]["pid"])


def states_of(api: httpx.Client, flow_run: str) -> list[str]:
    """Name the states that a flow run was in, in order, but for those on the way to Running."""
    states = sorted(api.get("/flow_run_states/", params={"flow_run_id": flow_run}).json(), key=itemgetter("timestamp"))
    return [str(state["name"]) for state in states if state["name"] not in {"Late", "Pending", "Submitting"}]


def wait_until(
    world: SandboxWorld, api: httpx.Client, flow_run: str, *states: str, seconds: float = LONGEST_WAIT_SECONDS
) -> None:
    """Wait until a flow run has been in these states, one after another."""
    wanted = ["Scheduled", *states]

    def log() -> str:
        return f"{states_of(api, flow_run)}\n{(world.folder / 'worker.txt').read_text()}"

    wait_for(lambda: states_of(api, flow_run)[: len(wanted)] == wanted, log, seconds)


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def test_the_run_of_a_machine_that_is_gone_is_finished_by_another_worker(
    world: SandboxWorld, catalog: str, api: httpx.Client, deployment: str
) -> None:
    """The server misses its heartbeats. The second try sends only what remains, with what is left of the calls.

    Each row has its one answer in the end.
    """
    from prefect.events import emit_event  # noqa: PLC0415 - Prefect reads its settings on import

    flow_run = begin(api, deployment, world, catalog, max_calls=MOST_CALLS)
    process = process_of_leg(world, 1)
    for number in (parent_of(process), process):
        os.kill(number, signal.SIGKILL)
    silent, *others = shipped_automations()
    read = run_of(api, flow_run)
    flow = {"prefect.resource.id": f"prefect.flow.{read['flow_id']}", "prefect.resource.name": "verify-catalog"}
    own = {"prefect.resource.id": f"prefect.deployment.{read['deployment_id']}"}
    with working(world), made(*others[:3]):
        with made(silent):
            for _ in range(3):  # a server that is busy has not loaded the automation yet, and misses an event
                emit_event(  # its last one: it was sent before the automation was there
                    event="prefect.flow-run.heartbeat",
                    resource={"prefect.resource.id": f"prefect.flow-run.{flow_run}"},
                    related=[flow | {"prefect.resource.role": "flow"}, own | {"prefect.resource.role": "deployment"}],
                )
                with suppress(AssertionError):
                    wait_until(world, api, flow_run, "Running", "Crashed", seconds=3 * SOON_SECONDS)
                    break
        # The second try lives, and its heartbeats are further apart.
        wait_until(world, api, flow_run, "Running", "Crashed", "Gone", "Scheduled", "Running", "WindowClosed")

    first, second = world.legs()
    assert (first["ended_by"], second["ended_by"]) == ("killed", "window")
    assert first["flow_run_id"] == second["flow_run_id"] == flow_run
    assert first["calls"] + second["calls"] <= MOST_CALLS
    assert len({row["manifest_row"] for row in world.rows()}) == len(world.rows()) > first["accepted"]
    assert world.run("resume") == 0
    assert sorted(row["manifest_row"] for row in world.rows()) == list(range(ROWS))
    assert world.charged <= 2 * (ROWS + IN_FLIGHT) + 12  # probes of the quota


@pytest.mark.skipif("PROOFSWEEP_SOAK_KILLS" not in os.environ, reason="takes a minute: make soak")
def test_a_run_that_has_no_try_left_is_given_up_and_one_that_ends_after_all_is_not_gone(
    world: SandboxWorld, catalog: str, api: httpx.Client, deployment: str
) -> None:
    """The state that is told is another than that of a run which is run again.

    Its worker sees it die, and its log has one JSON object for each event. The machine of the other run was out of
    reach, and it went on.
    """
    _, gone, again, abandoned, _ = shipped_automations()
    again["trigger"]["match"]["prefect.run-count"] = ["0"]  # a first try is the last one

    with made(gone, again, abandoned):
        killed = begin(api, deployment, world, catalog)
        os.kill(process_of_leg(world, 1), signal.SIGKILL)
        running = {"state": {"type": "RUNNING", "name": "Running"}}
        answer = api.post(f"/deployments/{deployment}/create_flow_run", json=running)
        alive = str(answer.raise_for_status().json()["id"])
        for state in ("Crashed", "Completed"):
            moved = {"state": {"type": state.upper(), "name": state}, "force": True}
            api.post(f"/flow_runs/{alive}/set_state", json=moved).raise_for_status()
        wait_until(world, api, killed, "Running", "Crashed", "Gone", "Abandoned")

    assert run_of(api, killed)["run_count"] == 1
    assert states_of(api, alive)[-1] == "Completed"
    log = (world.folder / "worker.txt").read_text().splitlines()
    events = [json.loads(line) for line in log if line.startswith("{")]
    opened = next(each for each in events if each["event"] == "leg_opened")
    assert (opened["leg"], opened["items"]) == (1, ROWS)
    assert not [line for line in log if "event='" in line]
