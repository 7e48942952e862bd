"""The Prefect server may die during a run: rows and exit code do not change."""

import os
import signal
import subprocess
import sys

import pytest

from proofsweep_cli.embedded_server import EmbeddedServer, prefect_api

from ..servers.foreign_service import Answer, answer_after
from ..worlds.foreign_world import ForeignWorld

ROWS = 40


def test_a_run_whose_prefect_server_dies_ends_as_it_would_have(
    bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run does not wait to write its records to Prefect, neither at its end nor at exit."""
    world = bare_world
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    with prefect_api() as server:
        assert isinstance(server, EmbeddedServer)
        server.wait_until_up()

        slowly = answer_after(0.05)

        def kill_prefect(number: int, usual: Answer) -> Answer:
            if number == ROWS // 2:
                os.kill(server.process.pid, signal.SIGKILL)
            return slowly(number, usual)

        world.service.changes["verify"] = kill_prefect
        catalog = world.catalog(*["valid"] * (ROWS - 1), "tampered")
        command = [sys.executable, "-m", "proofsweep_cli", "verify", catalog, "--results", world.results_url]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=90)

    assert done.returncode == 3
    assert done.stderr == (
        "proofsweep: The Prefect server is lost, with its own record of this run. No result is lost.\n"
    )
    assert f"{ROWS - 1} accepted" in done.stdout
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
    assert [leg["ended_by"] for leg in world.legs()] == ["complete"]
