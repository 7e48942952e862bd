"""A deployment resumes its catalog's unfinished run, then plans anew; Retry resumes the flow run's own run."""

import shutil
from datetime import UTC, datetime
from itertools import cycle, islice

import httpx
import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld
from ..worlds.waiting import wait_for
from .conftest import begin

ROWS = 20
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


@pytest.fixture
def catalog(world: SandboxWorld, samples: Samples) -> str:
    """Twenty valid files: two calls each."""
    return world.manifest(islice(cycle(samples.valid), ROWS))


def night(world: SandboxWorld, catalog: str, **options: object) -> tuple[str, str]:
    """Run the flow as a deployment does, without a run's id; give the name and the message of its state."""
    state = world.flow("verify_catalog", catalog=catalog, **options)
    return str(state.name), str(state.message)


def rows_of_runs(world: SandboxWorld) -> list[list[int]]:
    """Return the manifest rows that have a verdict, by run in the order of their beginning."""
    runs = sorted({row["run_id"] for row in world.rows()})
    return [[row["manifest_row"] for row in world.rows() if row["run_id"] == run] for run in runs]


def test_nights_of_few_calls_finish_a_catalog_before_they_begin_it_anew(world: SandboxWorld, catalog: str) -> None:
    """Each night goes on where the last one stopped; the one after the last of a run begins a new run.

    What is left of the second night's calls pays for no file that it or the first one has verified.
    """
    first, _ = night(world, catalog, max_calls=30)
    rows_then = rows_of_runs(world)
    second, _ = night(world, catalog, max_calls=30)
    rows_of_second = rows_of_runs(world)
    third, _ = night(world, catalog, max_calls=30)

    finished, begun = rows_of_runs(world)
    assert (first, second, third) == ("WindowClosed", "Completed", "WindowClosed")
    assert len(rows_then) == 1
    assert 0 < len(rows_then[0]) < ROWS
    assert rows_of_second == [finished] == [list(range(ROWS))]
    assert 0 < len(begun) < ROWS
    assert world.charged <= 90


def test_nights_of_young_answers_verify_nothing_twice(world: SandboxWorld, samples: Samples) -> None:
    """When no row is due, no run is planned, and the flow run is Completed."""
    folder = world.deliver(samples.one_files[:10])

    first = night(world, str(folder), max_age="30d", max_calls=11)
    second = night(world, str(folder), max_age="30d")
    charged = world.charged
    third = night(world, str(folder), max_age="30d")
    (folder / "00.wav").touch()
    fourth = night(world, str(folder), max_age="30d")

    assert [name for name, _ in (first, second, third, fourth)] == ["WindowClosed", *["Completed"] * 3]
    assert "nothing is due" in third[1]
    assert charged < world.charged < charged + 8
    assert [len(rows) for rows in rows_of_runs(world)] == [10, 1]


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "4")


@pytest.mark.timeout(400)  # a worker starts two processes, each with Prefect
@pytest.mark.usefixtures("few_at_once")
def test_a_retry_resumes_its_own_run_and_publishes_what_it_finished_when_it_is_cancelled(
    world: SandboxWorld, samples: Samples, api: httpx.Client, deployment: str
) -> None:
    """Even if another run was verified since; it plans nothing anew.

    Items in progress finish, and the receipt and Prefect agree on the ending.
    """
    catalog = world.manifest(islice(cycle(samples.valid), 2 * ROWS))
    flow_run = begin(api, deployment, world, catalog, max_calls=27)

    def moved_to(kind: str, **details: object) -> str:
        state = {"type": kind, "name": kind.capitalize(), "state_details": details}
        answer = api.post(f"/flow_runs/{flow_run}/set_state", json={"state": state, "force": True})
        return str(answer.raise_for_status().json()["status"])

    def ended(count: int) -> str:
        def has_ended() -> bool:
            run = api.get(f"/flow_runs/{flow_run}").json()
            return run["run_count"] == count and run["state_type"] in ENDED

        wait_for(has_ended, (world.folder / "worker.txt").read_text)
        return str(api.get(f"/flow_runs/{flow_run}").json()["state_name"])

    states = [ended(1)]
    world.run("verify", str(shutil.copy(catalog, world.folder / "other.csv")))
    world.operator.add_fault("verify", "slow", after=4, seconds=3.0)
    again = moved_to("SCHEDULED", scheduled_time=str(datetime.now(UTC)))
    world.wait_for(lambda: world.journalled(2))
    moved_to("CANCELLING")
    states.append(ended(2))

    own, other = rows_of_runs(world)
    first, second = (leg for leg in world.legs() if leg["flow_run_id"] == flow_run)
    assert (again, states) == ("ACCEPT", ["WindowClosed", "Cancelled"])
    assert (first["ended_by"], second["ended_by"]) == ("window", "cancelled")
    assert first["accepted"] < len(own) == 2 * ROWS - second["remaining"] < 2 * ROWS
    assert other == list(range(2 * ROWS))
