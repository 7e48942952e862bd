"""A real Prefect server tells somebody of flow runs, by the automations that one command applies."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import httpx
import pytest

from proofsweep.domain.alerts.events import EVENTS, FLOWS, TOLD_STATES

from ..servers.alert_receivers import Webhook, webhook
from ..worlds.sandbox_world import SandboxWorld
from ..worlds.waiting import wait_for

if TYPE_CHECKING:
    from prefect import Flow

SCRIPT = Path(__file__).parents[2] / "deploy" / "automations.py"
SECRET = "s3cr3t-path"
HOSTILE = "music <!channel> `@here`\nnext line"


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[Webhook]:
    """A webhook; the file `url` holds its URL."""
    with webhook() as hook:
        (tmp_path / "url").write_text(f"http://127.0.0.1:{hook.port}/{SECRET}\n")
        yield hook


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("automations", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def server(prefect_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Prefect's own clients ask the shared server; its automations are deleted afterwards."""
    monkeypatch.setenv("PREFECT_API_URL", prefect_url)
    from prefect import get_client  # noqa: PLC0415 - Prefect reads its settings on import

    yield
    with get_client(sync_client=True) as client:
        for automation in client.read_automations():
            client.delete_automation(automation.id)


def applied(*options: str) -> "subprocess.CompletedProcess[str]":
    """Run the command as a person does."""
    return subprocess.run(
        [sys.executable, SCRIPT, *options], capture_output=True, text=True, env=os.environ, check=False
    )


def end_flow_run(deployment: str, state: str) -> None:
    """Let a flow run of a deployment with a hostile name end as our flow ends it."""
    from prefect import get_client  # noqa: PLC0415
    from prefect.states import Failed  # noqa: PLC0415

    from flows.verify_catalog import verify_catalog  # noqa: PLC0415

    with get_client(sync_client=True) as client:
        deployment_id = client.create_deployment(client.create_flow(verify_catalog), deployment)
        run = client.create_flow_run_from_deployment(deployment_id, name=HOSTILE)
        client.set_flow_run_state(run.id, Failed(name=state, message=f"23 rows remain: {HOSTILE}"), force=True)


@pytest.mark.usefixtures("server")
def test_a_flow_run_that_needs_a_person_is_told_by_the_name_of_its_state(hook: Webhook, tmp_path: Path) -> None:
    """The message holds the state's own line and what to do; text of a catalog mentions nobody."""
    ended = applied("--webhook", str(tmp_path / "url"))

    end_flow_run("night", "KeyRefused")

    assert ended.returncode == 0, ended.stderr
    wait_for(lambda: hook.posts)
    ((path, posted),) = hook.posts
    assert path == f"/{SECRET}"
    assert posted["subject"] == "proofsweep: the service refused the API key (KeyRefused)"
    assert "To do: put the right key in place" in posted["body"]
    assert "It said: `23 rows remain: music ‹!channel› ˋ＠hereˋ next line`" in posted["body"]  # noqa: RUF001 - look-alikes
    assert "<!" not in posted["body"]
    assert "@here" not in posted["body"]
    assert "None" not in posted["body"]


@pytest.mark.usefixtures("server")
def test_an_hourly_deployment_that_ends_alike_is_told_once(hook: Webhook, tmp_path: Path) -> None:
    """Another deployment, and another ending, are told of by themselves."""
    applied("--webhook", str(tmp_path / "url"))

    for deployment, state in [("hourly", "Outage"), ("hourly", "Outage"), ("hourly", "Failed"), ("other", "Outage")]:
        end_flow_run(deployment, state)

    wait_for(lambda: len(hook.posts) >= 3)
    bodies = [post["body"].splitlines()[0] for _, post in hook.posts]
    assert sorted(line.partition(" of ")[2] for line in bodies) == [
        "`hourly`: Failed.",
        "`hourly`: Outage.",
        "`other`: Outage.",
    ]


@pytest.mark.usefixtures("server")
def test_the_command_can_be_run_again(hook: Webhook, tmp_path: Path) -> None:
    """What exists is updated; the URL is a secret in Prefect too."""
    from prefect import get_client  # noqa: PLC0415

    codes, names = [], []
    with get_client(sync_client=True) as client:
        for _ in range(2):
            codes.append(applied("--webhook", str(tmp_path / "url")).returncode)
            names.append(sorted(automation.name for automation in client.read_automations()))
        shown = client.read_block_document_by_name("proofsweep-alerts", "custom-webhook", include_secrets=False)
    assert codes == [0, 0]
    assert names[0] == names[1] == sorted(set(names[0]))
    assert {"proofsweep: tell of not_moved", "proofsweep: crash flow runs without heartbeat"} <= set(names[0])
    assert SECRET not in shown.model_dump_json()
    assert hook.posts == []


@pytest.mark.usefixtures("server")
def test_an_alert_that_no_state_tells_comes_from_the_flow(
    world: SandboxWorld, hook: Webhook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flow of a deployment emits it as an event, also without a receiver in the settings."""
    from flows.check_alerts import check_alerts  # noqa: PLC0415

    applied("--webhook", str(tmp_path / "url"))
    monkeypatch.setenv("PREFECT__RUNTIME__DEPLOYMENT__ID", str(uuid4()))
    monkeypatch.setenv("PROOFSWEEP_SERVICE__KEY_EXPIRES_AT", "2026-01-01T00:00:00Z")

    for _ in range(2):
        check_alerts(results=world.results_url)

    wait_for(lambda: hook.posts)
    ((_, posted),) = hook.posts
    assert posted["subject"] == "proofsweep: the API key ended at 2026-01-01 00:00 UTC (sandbox)"
    assert "To do: where the old key is still in use" in posted["body"]


def of_flow(name: str) -> "Flow[[], None]":
    """Make a flow that bears a name of ours."""
    from prefect import flow  # noqa: PLC0415 - Prefect reads its settings on import

    @flow(name=name)
    def ours() -> None:
        """Do nothing."""

    return ours


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("name", FLOWS)
def test_each_state_of_each_flow_is_told_by_prefect(hook: Webhook, tmp_path: Path, name: str) -> None:
    """Once for each deployment and state; a good end and a person's own stop are told to nobody."""
    from prefect import get_client  # noqa: PLC0415 - Prefect reads its settings on import
    from prefect.client.schemas.objects import State, StateType  # noqa: PLC0415

    types = {"SomeFailed": "COMPLETED", "Crashed": "CRASHED", "Late": "SCHEDULED"}
    types |= {"Completed": "COMPLETED", "Cancelled": "CANCELLED"}
    applied("--webhook", str(tmp_path / "url"))
    with get_client(sync_client=True) as client:
        deployment = client.create_deployment(client.create_flow(of_flow(name)), "all-states", paused=True)
        run = client.create_flow_run_from_deployment(deployment)
        for state in ["Completed", "Cancelled", *TOLD_STATES]:
            ended = State(type=StateType(types.get(state, "FAILED")), name=state, message=f"{name} said so")
            client.set_flow_run_state(run.id, ended, force=True)

    wait_for(lambda: len(hook.posts) >= len(TOLD_STATES), lambda: f"{len(hook.posts)} of {len(TOLD_STATES)}")
    told = {post["subject"].rpartition("(")[2].removesuffix(")"): post["body"] for _, post in hook.posts}
    assert told.keys() == TOLD_STATES.keys()
    assert all(EVENTS[TOLD_STATES[state]].advice in body for state, body in told.items())
    assert all(f"`{name} said so`" in body and "None" not in body for body in told.values())


@pytest.mark.usefixtures("server")
def test_a_deployment_without_a_successful_run_is_told(hook: Webhook, tmp_path: Path, script: ModuleType) -> None:
    """Here after ten seconds, the shortest time that Prefect takes; one without a schedule is not missed."""
    from prefect import get_client  # noqa: PLC0415 - Prefect reads its settings on import
    from prefect.blocks.core import Block  # noqa: PLC0415
    from prefect.client.schemas.actions import DeploymentScheduleCreate  # noqa: PLC0415
    from prefect.client.schemas.schedules import CronSchedule  # noqa: PLC0415

    applied("--webhook", str(tmp_path / "url"))
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

    soon = script.ZOMBIES.model_copy(deep=True)
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
        for _ in range(2):
            client.create_automation(script.ZOMBIES)
        create, failures = client.create_automation, [httpx.ConnectError("locked")]

        def failing(automation: object) -> UUID:
            if failures:
                raise failures.pop()
            return create(automation)

        client.create_automation = failing
        script.WAITS_SECONDS = (0,)
        script.apply(client, [script.ZOMBIES, script.of_events([])])

        names = sorted(automation.name for automation in client.read_automations())
    assert names == ["proofsweep: crash flow runs without heartbeat", "proofsweep: send alerts on"]


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
