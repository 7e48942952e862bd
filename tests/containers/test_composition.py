"""The composition in containers: it starts, verifies by its schedule, moves, survives stops, and keeps everything.

The tests build on one another in their order, as the days of one installation do.
"""

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox

from ..deployment.composed_system import quick_crashes
from .running_composition import RunningComposition

SERVERS = ("postgres", "prefect", "sandbox", "worker")
ONE_SHOT = ("deployments", "samples")
IMAGE_BYTES = 700_000_000

FILES = 26
"""Files of a catalog that is disturbed."""
UNDISTURBED = 6
"""Files that are verified before the service becomes slow."""


def slow_night(
    running: RunningComposition, folder: Path, seed: int, seconds: float, files: int = FILES
) -> tuple[str, int, int]:
    """Put a new catalog, and wait until its scheduled run is in the middle.

    Give its flow run, the last exchange before it, and how many of the files can be sent.
    """
    seen = running.operator.exchanges()[-1]["seq"]
    samples = sandbox.write_catalog(folder, running.operator, files=files, seed=seed)
    running.operator.add_fault("uploads", "slow", seconds=seconds, after=UNDISTURBED)
    running.put_catalog(folder)
    running.wait_for(lambda: len(running.verified(seen)) >= UNDISTURBED // 2)
    running.wait_for(lambda: running.flow_runs("nightly", "RUNNING"))
    (flow_run,) = running.flow_runs("nightly", "RUNNING")
    return flow_run["id"], seen, sum(sample.verdict is not None for sample in samples)


def assert_whole(running: RunningComposition, seen: int, to_send: int, *, lost: bool = False) -> None:
    """Let later nights finish the catalog; each file that can be sent is verified once and has its answer."""
    running.operator.clear_faults()
    answered: list[str] = []

    def is_whole() -> bool:
        verified = running.verified(seen)
        rows = [row["verify_request_id"] for row in running.verdicts()]
        answered[:] = [request for request in rows if request in verified]
        return len(answered) >= to_send

    running.wait_for(is_whole)
    if not lost:  # an answer that the partner's own restart cut off on its way is asked for again
        assert sorted(answered) == sorted(running.verified(seen))
    assert len(answered) == to_send


def test_compose_alone_says_what_to_do(unused_checkout: Path) -> None:
    """Without the secrets that `make up` makes, `docker compose up` starts nothing and names that command."""
    ended = subprocess.run(
        ["docker", "compose", "up", "--detach"], cwd=unused_checkout, check=False, capture_output=True, text=True
    )

    assert ended.returncode != 0
    assert "run make up first" in ended.stderr


@pytest.mark.timeout(1500)  # builds the image
def test_make_up_starts_everything(running: RunningComposition) -> None:
    """All servers are healthy, the other services have ended well, and plain `docker compose up` changes nothing."""
    running.wait_for(lambda: running.is_healthy(*SERVERS))
    before = running.containers()

    running.compose("up", "--detach")

    after = running.containers()
    assert set(before) == {*SERVERS, *ONE_SHOT}
    assert {name: before[name]["ExitCode"] for name in ONE_SHOT} == dict.fromkeys(ONE_SHOT, 0)
    assert {name: after[name]["ID"] for name in SERVERS} == {name: before[name]["ID"] for name in SERVERS}


def test_containers_are_confined_and_the_image_is_small(running: RunningComposition) -> None:
    """Nobody is root, no file of an image can be written, the image was built once, and has at most 700 MB."""
    ids = [each["ID"] for each in running.containers().values()]
    for container in json.loads(running.run("docker", "inspect", *ids)):
        assert container["Config"]["User"].split(":")[0] not in {"", "0", "root"}
        assert container["HostConfig"]["ReadonlyRootfs"]
        assert container["HostConfig"]["CapAdd"] is None
    size = json.loads(running.run("docker", "image", "inspect", "proofsweep"))[0]["Size"]
    compiled = running.compose("exec", "--no-TTY", "worker", "find", "/app", "-name", "*.pyc")
    dangling = running.run("docker", "image", "ls", "--quiet", "--filter", "dangling=true")

    print(f"proofsweep: {size / 1e6:.0f} MB")  # noqa: T201 - the figure of each CI run
    assert size <= IMAGE_BYTES
    assert compiled == dangling == ""


@pytest.mark.timeout(600)
def test_the_nightly_deployment_runs_by_its_schedule(running: RunningComposition) -> None:
    """Nobody starts it; every sample has its row in the store."""
    running.wait_for(lambda: running.flow_runs("nightly", "COMPLETED"))

    (first, *_) = reversed(running.flow_runs("nightly", "COMPLETED"))
    assert first["auto_scheduled"]
    rows = Counter(row["run_id"] for row in running.verdicts())
    assert rows.most_common(1)[0][1] == 60


@pytest.mark.timeout(600)
def test_ingest_moves_files_by_their_verdicts(running: RunningComposition) -> None:
    """The scheduled passes move accepted and rejected files, with their sidecars, out of the folder of deliveries."""
    running.wait_for(lambda: running.files_in("accepted") and running.files_in("quarantine"))

    left = running.files_in("ingest")
    assert not left & (running.files_in("accepted") | running.files_in("quarantine"))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("services", [("postgres", "prefect"), ("sandbox",)], ids="-".join)
def test_a_run_outlasts_servers_that_restart(
    running: RunningComposition, tmp_path: Path, services: tuple[str, ...]
) -> None:
    """Servers are stopped and started in the middle of a run: each file is verified once, each row is there."""
    flow_run, seen, to_send = slow_night(running, tmp_path / "samples", seed=len(services[0]), seconds=20)

    for service in services:
        running.compose("restart", service)
        running.wait_for(lambda service=service: running.is_healthy(service))  # type: ignore[misc]

    assert_whole(running, seen, to_send, lost="sandbox" in services)
    assert running.ended(flow_run)["state_name"] != "Crashed"


@pytest.mark.timeout(900)
def test_a_stopped_worker_lets_its_run_end(running: RunningComposition, tmp_path: Path) -> None:
    """`docker compose stop worker`: files in flight are finished, the run is Interrupted, and the next one goes on."""
    # More than are in flight at once, so that some have not begun when it is stopped.
    flow_run, seen, to_send = slow_night(running, tmp_path / "samples", seed=41, seconds=4, files=3 * FILES)

    running.compose("stop", "worker")

    ended = running.api.get(f"/flow_runs/{flow_run}").json()
    assert ended["state_name"] == "Interrupted", running.compose("logs", "--tail", "100", "worker")
    rows = [row["verify_request_id"] for row in running.verdicts()]
    assert set(running.verified(seen)) <= set(rows)
    running.compose("up", "--detach")
    assert_whole(running, seen, to_send)


@pytest.mark.timeout(900)
def test_a_killed_worker_is_started_again(running: RunningComposition, tmp_path: Path) -> None:
    """The engine starts a worker that was killed with its run; the run goes on, and verifies nothing twice."""
    process = json.loads(running.run("docker", "inspect", running.containers()["worker"]["ID"]))[0]["State"]["Pid"]

    flow_run, seen, to_send = slow_night(running, tmp_path / "samples", seed=43, seconds=30)
    running.wait_for(lambda: set(running.verified(seen)) <= running.journalled())  # within a second
    # Detached: the container may end before the command in it can say how it ended.
    running.compose("exec", "--detach", "worker", "sh", "-c", "kill -KILL -1")
    with quick_crashes(running.api, flow_run):
        assert running.ended(flow_run)["state_type"] == "CRASHED"

    running.wait_for(lambda: running.is_healthy("worker"))
    again = json.loads(running.run("docker", "inspect", running.containers()["worker"]["ID"]))[0]["State"]["Pid"]
    assert again != process
    assert_whole(running, seen, to_send)


@pytest.mark.timeout(900)
def test_an_update_in_the_middle_of_a_run_keeps_everything(running: RunningComposition, tmp_path: Path) -> None:
    """`make down`, then `make up`: the run is Interrupted and goes on, and no flow run and no row is lost."""
    flow_run, seen, to_send = slow_night(running, tmp_path / "samples", seed=47, seconds=4, files=3 * FILES)
    rows = len(running.verdicts())
    completed = {each["id"] for each in running.flow_runs("nightly", "COMPLETED")}

    running.run("make", "down")
    assert running.containers() == {}
    running.run("make", "up")

    running.wait_for(lambda: running.is_healthy(*SERVERS))
    assert running.ended(flow_run)["state_name"] == "Interrupted"
    assert completed <= {each["id"] for each in running.flow_runs("nightly", "COMPLETED")}
    assert len(running.verdicts()) > rows
    assert_whole(running, seen, to_send)
