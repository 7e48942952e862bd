"""A real Prefect server tells somebody of flow runs, by the automations that one command applies."""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from uuid import UUID

import httpx
import pytest

from proofsweep.alerts.events import (
    ALERTED_STATES,
    EVENTS,
    FLOWS,
    OF_TYPE_CANCELLED,
    OF_TYPE_COMPLETED,
    SILENT_STATES,
)

from ..servers.alert_receivers import Webhook, webhook
from ..worlds.waiting import wait_for

if TYPE_CHECKING:
    from prefect import Flow

SCRIPT = Path(__file__).parents[2] / "deploy" / "automations.py"
SECRET = "s3cr3t-path"
HOSTILE = "music <!channel> `@here`\nnext line"


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Webhook, Path]]:
    """A webhook, and a file that holds its URL."""
    with webhook() as hook:
        file = tmp_path_factory.mktemp("receiver") / "url"
        file.write_text(f"http://127.0.0.1:{hook.port}/{SECRET}\n")
        yield hook, file


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("automations", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def server(prefect_url: str) -> Iterator[None]:
    """Prefect's own clients ask the shared server; its automations are deleted afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_API_URL", prefect_url)
        from prefect import get_client  # noqa: PLC0415 - Prefect reads its settings on import

        yield
        with get_client(sync_client=True) as client:
            for automation in client.read_automations():
                client.delete_automation(automation.id)


@pytest.fixture(scope="module")
def all_applied(server: None, receiver: tuple[Webhook, Path]) -> "subprocess.CompletedProcess[str]":  # noqa: ARG001
    """The automations, made once for all tests here."""
    return applied("--webhook", str(receiver[1]))


@pytest.fixture
def hook(receiver: tuple[Webhook, Path], all_applied: "subprocess.CompletedProcess[str]") -> Webhook:
    """The webhook, which nothing was posted to yet."""
    assert all_applied.returncode == 0, all_applied.stderr
    receiver[0].posts.clear()
    return receiver[0]


def applied(*options: str) -> "subprocess.CompletedProcess[str]":
    """Run the command as a person does."""
    return subprocess.run(
        [sys.executable, SCRIPT, *options], capture_output=True, text=True, env=os.environ, check=False
    )


def end_flow_run(deployment: str, state: str) -> None:
    """Let a flow run of a deployment with a hostile name end as our flow ends it."""
    from prefect import get_client  # noqa: PLC0415
    from prefect.states import Failed  # noqa: PLC0415

    from proofsweep_flows.verify_catalog import verify_catalog  # noqa: PLC0415

    with get_client(sync_client=True) as client:
        deployment_id = client.create_deployment(client.create_flow(verify_catalog), deployment)
        run = client.create_flow_run_from_deployment(deployment_id, name=HOSTILE)
        client.set_flow_run_state(run.id, Failed(name=state, message=f"23 rows remain: {HOSTILE}"), force=True)


def test_a_flow_run_that_needs_a_person_is_told_by_the_name_of_its_state(hook: Webhook) -> None:
    """The message holds the state's own line and what to do; text of a catalog mentions nobody."""
    end_flow_run("night", "KeyRefused")

    wait_for(lambda: hook.posts)
    ((path, posted),) = hook.posts
    assert path == f"/{SECRET}"
    assert posted["subject"] == "proofsweep: the service refused the API key (KeyRefused)"
    assert "To do: put the right key in place" in posted["body"]
    assert "It said: `23 rows remain: music ‹!channel› ˋ＠hereˋ next line`" in posted["body"]  # noqa: RUF001 - look-alikes
    assert "<!" not in posted["body"]
    assert "@here" not in posted["body"]
    assert "If nobody acts: every run stops" in posted["body"]
    assert re.fullmatch(r"See: http://\S+/runs/flow-run/[0-9a-f-]{36}", posted["body"].splitlines()[-1])
    assert "None" not in posted["body"]


def test_an_hourly_deployment_that_ends_alike_is_told_once(hook: Webhook) -> None:
    """Another deployment, and another ending, are told of by themselves."""
    for deployment, state in [("hourly", "Outage"), ("hourly", "Outage"), ("hourly", "Failed"), ("other", "Outage")]:
        end_flow_run(deployment, state)

    wait_for(lambda: len(hook.posts) >= 3)
    bodies = [post["body"].splitlines()[0] for _, post in hook.posts]
    assert sorted(line.partition(" of ")[2] for line in bodies) == [
        "`hourly`: Failed.",
        "`hourly`: Outage.",
        "`other`: Outage.",
    ]


def test_the_command_can_be_run_again(hook: Webhook, receiver: tuple[Webhook, Path]) -> None:
    """What exists is updated; the URL is a secret in Prefect too."""
    from prefect import get_client  # noqa: PLC0415

    with get_client(sync_client=True) as client:
        before = sorted(automation.name for automation in client.read_automations())
        again = applied("--webhook", str(receiver[1]))
        after = sorted(automation.name for automation in client.read_automations())
        shown = client.read_block_document_by_name("proofsweep-alerts", "custom-webhook", include_secrets=False)
    assert again.returncode == 0, again.stderr
    assert before == after == sorted(set(after))
    assert {"proofsweep: tell of not_moved", "proofsweep: crash flow runs without heartbeat"} <= set(after)
    assert SECRET not in shown.model_dump_json()
    assert hook.posts == []


def of_flow(name: str) -> "Flow[[], None]":
    """Make a flow that bears a name of ours."""
    from prefect import flow  # noqa: PLC0415 - Prefect reads its settings on import

    @flow(name=name)
    def ours() -> None:
        """Do nothing."""

    return ours


@pytest.mark.parametrize("name", FLOWS)
def test_each_state_of_each_flow_is_told_by_prefect(hook: Webhook, name: str) -> None:
    """Once for each state, though two clients, as many as a worker has runs, write them into SQLite at once."""
    from prefect import get_client  # noqa: PLC0415 - Prefect reads its settings on import
    from prefect.client.schemas.objects import State, StateType  # noqa: PLC0415
    from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings  # noqa: PLC0415

    types = {"Crashed": "CRASHED", "Abandoned": "CRASHED", "Late": "SCHEDULED"}
    types |= dict.fromkeys(OF_TYPE_COMPLETED, "COMPLETED") | dict.fromkeys(OF_TYPE_CANCELLED, "CANCELLED")

    def end_in(run_id: UUID, states: list[str]) -> None:
        as_in_a_worker = temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 8})
        with as_in_a_worker, get_client(sync_client=True) as client:
            for state in states:
                ended = State(type=StateType(types.get(state, "FAILED")), name=state, message=f"{name} said so")
                client.set_flow_run_state(run_id, ended, force=True)

    states = [*SILENT_STATES, *ALERTED_STATES]
    with get_client(sync_client=True) as client:
        deployment = client.create_deployment(client.create_flow(of_flow(name)), "all-states", paused=True)
        runs = [client.create_flow_run_from_deployment(deployment).id for _ in range(2)]
    with ThreadPoolExecutor(2) as clients:
        list(clients.map(end_in, runs, [states[::2], states[1::2]]))

    wanted = ALERTED_STATES.keys() - {"Crashed"}  # it is run again first
    wait_for(lambda: len(hook.posts) >= len(wanted), lambda: f"{len(hook.posts)} of {len(wanted)}")
    told = {post["subject"].rpartition("(")[2].removesuffix(")"): post["body"] for _, post in hook.posts}
    assert told.keys() == wanted
    assert len(hook.posts) == len(wanted)
    assert all(EVENTS[ALERTED_STATES[state]].advice in body for state, body in told.items())
    assert all(f"`{name} said so`" in body and "None" not in body for body in told.values())


def test_a_deployment_without_a_successful_run_is_told(hook: Webhook, script: ModuleType) -> None:
    """Here after ten seconds, the shortest time that Prefect takes; one without a schedule is not missed."""
    from prefect import get_client  # noqa: PLC0415 - Prefect reads its settings on import
    from prefect.blocks.core import Block  # noqa: PLC0415
    from prefect.client.schemas.actions import DeploymentScheduleCreate  # noqa: PLC0415
    from prefect.client.schemas.schedules import CronSchedule  # noqa: PLC0415

    block_id = Block.load(f"custom-webhook/{script.BLOCK}")._block_document_id
    assert isinstance(block_id, UUID)
    weekdays = DeploymentScheduleCreate(schedule=CronSchedule(cron="*/10 7-19 * * 1-5", timezone="UTC"), active=True)
    with get_client(sync_client=True) as client:
        flow_id = client.create_flow(of_flow("check-ingest"))
        scheduled = client.read_deployment(client.create_deployment(flow_id, "drops", schedules=[weekdays]))
        other = client.read_deployment(client.create_deployment(flow_id, "by-hand"))
        script.apply(client, [script.without_success(scheduled, timedelta(seconds=10), [block_id])])

    wait_for(lambda: hook.posts)
    assert "No run of the deployment `drops` has done its work" in hook.posts[0][1]["body"]
    assert script.longest_gap(scheduled) == timedelta(hours=59, minutes=10)
    assert script.longest_gap(other) is None


@pytest.mark.usefixtures("server")
def test_a_flow_run_without_heartbeat_is_crashed_whatever_its_flow(script: ModuleType) -> None:
    """Here after ten seconds; one whose end was seen is left alone."""
    from prefect import get_client  # noqa: PLC0415 - Prefect reads its settings on import
    from prefect.events import emit_event  # noqa: PLC0415
    from prefect.states import Completed, Running  # noqa: PLC0415

    soon, *_ = script.crash_automations(3)
    soon.trigger.within = timedelta(seconds=10)
    runs = {}
    with get_client(sync_client=True) as client:
        script.apply(client, [soon])
        for name in FLOWS:
            flow_id = client.create_flow(of_flow(name))
            runs[name] = client.create_flow_run(of_flow(name)).id
            client.set_flow_run_state(runs[name], Running(), force=True)
            emit_event(
                event="prefect.flow-run.heartbeat",
                resource={"prefect.resource.id": f"prefect.flow-run.{runs[name]}"},
                related=[
                    {
                        "prefect.resource.id": f"prefect.flow.{flow_id}",
                        "prefect.resource.role": "flow",
                        "prefect.resource.name": name,
                    }
                ],
            )
        client.set_flow_run_state(runs["check-alerts"], Completed(), force=True)

        def states() -> dict[str, str | None]:
            return {name: client.read_flow_run(run_id).state_name for name, run_id in runs.items()}

        wait_for(lambda: list(states().values()).count("Crashed") == len(FLOWS) - 1, states)
        assert states()["check-alerts"] == "Completed"


@pytest.mark.usefixtures("server")
def test_an_automation_is_made_though_the_server_fails_for_a_while(script: ModuleType) -> None:
    """As one on SQLite does; what was made twice is one again."""
    from prefect import get_client  # noqa: PLC0415 - Prefect reads its settings on import

    with get_client(sync_client=True) as client:
        silent, *_ = script.crash_automations(3)
        zombies = silent.model_copy(update={"name": "proofsweep: twice"})
        missing = next(script.automations([])).model_copy(update={"name": "proofsweep: missing"})
        for _ in range(2):
            client.create_automation(zombies)
        create, failures = client.create_automation, [httpx.ConnectError("locked")]

        def failing(automation: object) -> UUID:
            if failures:
                raise failures.pop()
            return create(automation)

        client.create_automation = failing
        script.WAITS_SECONDS = (0,)
        script.apply(client, [zombies, missing])

        names = [automation.name for automation in client.read_automations()]
    assert [names.count(each.name) for each in (zombies, missing)] == [1, 1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--email", "key"], "--email needs --from and --to"),
        (["--slack", "missing"], "missing cannot be read"),
        (["--slack", "empty"], "empty must hold one line"),
        (["--slack", "two"], "two must hold one line"),
    ],
)
def test_bad_options_are_one_line(tmp_path: Path, options: list[str], said: str) -> None:
    """Nothing was sent to the server."""
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "two").write_text("https://a https://b")

    ended = subprocess.run(
        [sys.executable, SCRIPT, *options], capture_output=True, text=True, cwd=tmp_path, env=os.environ, check=False
    )

    assert ended.returncode != 0
    assert said in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr
