"""Hostile names and a hostile service forge nothing: not in the terminal, nor in Prefect's log, names and artifact."""

import httpx
import pytest

from ..worlds.hostile_names import HOSTILE, assert_shows_no_command, write_hostile_files
from ..worlds.sandbox_world import Samples, SandboxWorld


def test_no_name_forges_a_line_in_the_terminal_or_in_prefect(
    world: SandboxWorld, samples: Samples, api: httpx.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tables keep each name and each verdict as it is."""
    wav = next(sample.audio for sample in samples.valid if sample.audio.suffix == ".wav")
    files = write_hostile_files(world.folder / HOSTILE[3], wav.read_bytes())[:-1]
    world.operator.add_fault("verify", "answer", answer={"verdict": HOSTILE[0], "good": False}, without=["song"])
    world.operator.add_fault("*", "headers", headers={"Sunset": "soon ![x](y) | \x9b2J"})

    code = world.run("verify", str(files[0].parent))

    shown = capsys.readouterr()
    assert_shows_no_command(shown.out)
    assert_shows_no_command(shown.err)
    assert code == 3
    assert {row["verdict"] for row in world.rows()} == {HOSTILE[0]}
    (leg,) = world.legs()
    mine = {"flow_run_id": {"any_": [leg["flow_run_id"]]}}
    flow_run = api.get(f"/flow_runs/{leg['flow_run_id']}").json()
    logs = api.post("/logs/filter", json={"logs": mine}).json()
    tasks = api.post("/task_runs/filter", json={"flow_runs": {"id": mine["flow_run_id"]}}).json()
    (artifact,) = api.post("/artifacts/filter", json={"artifacts": mine}).json()
    assert logs
    for text in (flow_run["name"], *(line["message"] for line in logs), *(task["name"] for task in tasks)):
        assert text.isprintable()
    assert_shows_no_command(artifact["data"])
    assert "![" not in artifact["data"]


def test_a_flow_run_that_fails_names_the_catalog_in_one_line(world: SandboxWorld, api: httpx.Client) -> None:
    """Its name, its state and its error are one line each, also if Prefect writes them."""
    state = world.flow("verify_catalog", catalog=f"{world.folder}/{HOSTILE[0]}\x1b[2J")

    failed = {"name": {"like_": "forged"}, "state": {"type": {"any_": ["FAILED"]}}}
    (run,) = api.post("/flow_runs/filter", json={"flow_runs": failed}).json()
    assert state.is_failed()
    assert run["name"].isprintable()
    assert run["state"]["message"].isprintable()
