"""The state of a flow run says how it ended, by a name that an automation can match."""

from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice, pairwise
from typing import Any

import httpx
import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld
from ..worlds.waiting import wait_for


@pytest.fixture
def catalog(world: SandboxWorld, samples: Samples) -> str:
    return world.manifest(islice(cycle(samples.valid), 20))


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROOFSWEEP_RETRY__LONGEST_WAIT_SECONDS", "0.05")
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "0.5")


def last_flow_run(world: SandboxWorld, api: httpx.Client) -> dict[str, Any]:
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


def test_a_run_that_is_stopped_from_another_terminal_is_cancelled(
    world: SandboxWorld, api: httpx.Client, catalog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Items in progress finish."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "4")
    world.operator.add_fault("verify", "slow", after=4, seconds=3.0)

    def stop() -> int:
        world.wait_for(lambda: world.journalled(1))
        return world.run("stop")

    with ThreadPoolExecutor(1) as other:
        stopped = other.submit(stop)
        code = world.run("verify", catalog)

    run, (leg,) = last_flow_run(world, api), world.legs()
    assert (stopped.result(), code, leg["ended_by"]) == (0, 6, "cancelled")
    assert (run["state_type"], run["state_name"]) == ("CANCELLED", "Cancelled")
    assert 0 < len(world.rows()) == 20 - leg["remaining"] < 20


@pytest.mark.parametrize(("refused", "state"), [(1, ("COMPLETED", "SomeFailed")), (3, ("FAILED", "AllFailed"))])
def test_rows_that_failed_are_in_the_name_of_the_state(
    world: SandboxWorld, samples: Samples, api: httpx.Client, refused: int, state: tuple[str, str]
) -> None:
    """Some of them, or all of which the service was asked; the exit code is 4 for both."""
    world.operator.add_fault("verify", "status", status=422, count=refused)

    code = world.run("verify", world.manifest(samples.valid[:3]))

    run = last_flow_run(world, api)
    assert code == 4
    assert (run["state_type"], run["state_name"]) == state
    assert "failed" in run["state"]["message"]


def test_prefect_shows_a_run_its_items_its_log_lines_and_its_summary(
    world: SandboxWorld, api: httpx.Client, catalog: str
) -> None:
    """The message counts the outcomes, each item's task bears its file's name, and the summary is an artifact."""
    world.run("verify", catalog)

    run, (leg,) = last_flow_run(world, api), world.legs()
    mine = {"flow_run_id": {"any_": [run["id"]]}}

    def tasks() -> list[dict[str, Any]]:
        found = api.post("/task_runs/filter", json={"flow_runs": {"id": mine["flow_run_id"]}}).json()
        return list(found)

    def lines() -> list[str]:
        return [line["message"] for line in api.post("/logs/filter", json={"logs": mine}).json()]

    wait_for(lambda: len(tasks()) == 20)
    wait_for(lambda: any("leg_opened" in line for line in lines()), lines)
    (artifact,) = api.post("/artifacts/filter", json={"artifacts": mine}).json()
    assert (run["state_type"], run["state_name"]) == ("COMPLETED", "Completed")
    assert "20 accepted" in run["state"]["message"]
    assert run["parameters"]["run_id"] == leg["run_id"]
    assert {task["name"] for task in tasks()} == {row["audio"].rpartition("/")[2] for row in world.rows()}
    assert artifact["key"] == "proofsweep-summary"
    assert "20 of 20 rows finished" in artifact["data"]


def test_a_flow_plans_a_catalog_with_the_task_runner_that_it_is_given(world: SandboxWorld, samples: Samples) -> None:
    """`with_options` replaces it: with one thread, tasks follow each other. The run's ID is returned."""
    from prefect.task_runners import ThreadPoolTaskRunner  # noqa: PLC0415 - as above

    from proofsweep_flows.verify_catalog import verify_catalog  # noqa: PLC0415

    one_thread = verify_catalog.with_options(task_runner=ThreadPoolTaskRunner(max_workers=1))
    run_id = one_thread(catalog=world.manifest(samples.valid[:4]), results=world.results_url)

    times = sorted((row["started_at"], row["finished_at"]) for row in world.rows())
    assert [row["run_id"] for row in world.rows()] == [run_id] * 4
    assert all(ended <= began for (_, ended), (began, _) in pairwise(times))
