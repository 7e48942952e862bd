"""The state of a flow run says how it ended, by a name that an automation can match."""

from datetime import timedelta
from itertools import cycle, islice, pairwise
from typing import Any

import httpx
import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld
from ..worlds.waiting import wait_for


@pytest.fixture
def catalog(world: SandboxWorld, samples: Samples) -> str:
    """Twenty valid files."""
    return world.manifest(islice(cycle(samples.valid), 20))


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry and give up within a second."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__FIRST_WAIT_SECONDS", "0.01")
    monkeypatch.setenv("PROOFSWEEP_RETRY__LONGEST_WAIT_SECONDS", "0.1")
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "0.5")


def last_flow_run(world: SandboxWorld, api: httpx.Client) -> dict[str, Any]:
    """Ask Prefect for the flow run of the last leg."""
    found: dict[str, Any] = api.get(f"/flow_runs/{world.legs()[-1]['flow_run_id']}").raise_for_status().json()
    return found


@pytest.mark.usefixtures("short_patience")
@pytest.mark.parametrize(("name", "code"), [("QuotaSpent", 5), ("WindowClosed", 6), ("Outage", 8), ("KeyRefused", 7)])
def test_a_run_whose_rows_remain_is_failed_with_the_name_of_its_reason(
    world: SandboxWorld, api: httpx.Client, catalog: str, name: str, code: int
) -> None:
    """The message is the run's one line, and the exit code is the documented one."""
    if name == "QuotaSpent":
        world.operator.set_quota(20, tenant=world.tenant)
    if name == "Outage":
        world.operator.add_fault("uploads", "status", status=503)
    if name == "KeyRefused":
        world.operator.add_fault("uploads", "status", status=403)

    exited = world.run("verify", catalog, *(["--max-calls", "9"] if name == "WindowClosed" else []))

    run = last_flow_run(world, api)
    assert exited == code
    assert (run["state_type"], run["state_name"]) == ("FAILED", name)
    assert run["state"]["message"].startswith(f"Run {world.legs()[-1]['run_id']}: stopped")
    assert "rows remain" in run["state"]["message"]


def test_a_run_with_an_outcome_for_each_row_is_completed(world: SandboxWorld, api: httpx.Client, catalog: str) -> None:
    """The message counts the outcomes, and each item's task bears its file's name."""
    world.run("verify", catalog)

    run = last_flow_run(world, api)
    tasks = {"flow_runs": {"id": {"any_": [run["id"]]}}}
    wait_for(lambda: len(api.post("/task_runs/filter", json=tasks).json()) == 20)
    names = {task["name"] for task in api.post("/task_runs/filter", json=tasks).json()}
    assert (run["state_type"], run["state_name"]) == ("COMPLETED", "Completed")
    assert "20 accepted" in run["state"]["message"]
    assert names == {row["audio"].rpartition("/")[2] for row in world.rows()}


@pytest.mark.parametrize(
    ("refused", "state"),
    [(1, ("COMPLETED", "SomeFailed")), (3, ("FAILED", "AllFailed")), (0, ("COMPLETED", "Completed"))],
)
def test_rows_that_failed_are_in_the_name_of_the_state(
    world: SandboxWorld, samples: Samples, api: httpx.Client, refused: int, state: tuple[str, str]
) -> None:
    """Some of them, or all of which the service was asked; the exit code is 4 for both."""
    world.operator.add_fault("verify", "status", status=422, count=refused)

    code = world.run("verify", world.manifest(samples.valid[:3]))

    run = last_flow_run(world, api)
    assert code == (4 if refused else 0)
    assert (run["state_type"], run["state_name"]) == state
    assert ("failed" in run["state"]["message"]) == (refused > 0)


def test_a_known_error_is_the_sentence_of_the_state(world: SandboxWorld, api: httpx.Client, deployment: str) -> None:
    """A catalog that is not there is Failed with the sentence that a person gets."""
    parameters = {"catalog": str(world.folder / "nowhere"), "results": str(world.results)}
    path = f"/deployments/{deployment}/create_flow_run"
    run_id = api.post(path, json={"parameters": parameters}).raise_for_status().json()["id"]
    log = world.folder / "worker.txt"
    wanted = f"{world.folder}/nowhere: there is no such file or folder"
    wait_for(lambda: wanted in log.read_text(), log.read_text)

    state = api.get(f"/flow_runs/{run_id}").json()["state"]
    assert (state["name"], state["message"]) == ("Failed", wanted)


def test_a_catalog_without_audio_is_failed(world: SandboxWorld) -> None:
    """It may be a disk that is not mounted."""
    from proofsweep_flows.verify_catalog import verify_catalog  # noqa: PLC0415 - Prefect reads its settings on import

    (world.folder / "deliveries").mkdir()
    state = verify_catalog(catalog=str(world.folder / "deliveries"), results=world.results_url, return_state=True)

    assert (state.name, world.legs()) == ("Failed", [])
    assert "no audio in this folder" in str(state.message)


def test_a_flow_has_the_task_runner_that_it_is_given(world: SandboxWorld, samples: Samples) -> None:
    """`with_options` replaces it: with one thread, tasks follow each other."""
    from prefect.task_runners import ThreadPoolTaskRunner  # noqa: PLC0415 - as above

    from proofsweep_flows.verify_catalog import verify_catalog  # noqa: PLC0415

    one_thread = verify_catalog.with_options(task_runner=ThreadPoolTaskRunner(max_workers=1))
    one_thread(catalog=world.manifest(samples.valid[:4]), results=world.results_url)

    times = sorted((row["started_at"], row["finished_at"]) for row in world.rows())
    assert len(times) == 4
    assert all(ended <= began for (_, ended), (began, _) in pairwise(times))


def test_an_automation_can_match_the_name(world: SandboxWorld, api: httpx.Client, catalog: str) -> None:
    """The event of the state bears its name, and fires an automation of the server."""
    from prefect.events.actions import DoNothing  # noqa: PLC0415 - as above
    from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture  # noqa: PLC0415

    trigger = EventTrigger(
        expect={"prefect.flow-run.WindowClosed"}, posture=Posture.Reactive, threshold=1, within=timedelta(0)
    )
    wanted = AutomationCore(name=world.folder.name, trigger=trigger, actions=[DoNothing()])
    made = api.post("/automations/", json=wanted.model_dump(mode="json")).raise_for_status().json()["id"]
    fired = {
        "filter": {
            "event": {"prefix": ["prefect.automation."]},
            "resource": {"id": [f"prefect.automation.{made}"]},
        }
    }
    api_events = lambda: api.post("/events/filter", json=fired).raise_for_status().json()["events"]  # noqa: E731
    wait_for(lambda: any(event["event"] == "prefect.automation.created" for event in api_events()))

    world.run("verify", catalog, "--max-calls", "9")

    wait_for(lambda: any("triggered" in event["event"] for event in api_events()), api_events)
