"""The Prefect server may die in mid-run: the rows and the exit code are the run's own."""

import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from cli.embedded_server import EmbeddedServer, prefect_api

World = Any
ROWS = 40


def test_a_run_whose_prefect_server_dies_ends_as_it_would_have(
    bare_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits neither for its last records in Prefect, which would take minutes, nor for their being sent at exit."""
    world = bare_world
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    with prefect_api() as server:
        assert isinstance(server, EmbeddedServer)
        server.wait_until_up()

        def lose_prefect(number: int, usual: Any) -> Any:  # noqa: ANN401
            if number == ROWS // 2:
                os.kill(server.pid, signal.SIGKILL)
            time.sleep(0.05)
            return usual

        world.service.twists["verify"] = lose_prefect
        catalog = world.catalog(*["valid"] * (ROWS - 1), "tampered")
        command = [sys.executable, "-m", "cli", "verify", catalog, "--results", world.results_url]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=90)

    assert done.returncode == 3
    assert done.stderr == (
        "proofsweep: The Prefect server is lost, with its own record of this run. No result is lost.\n"
    )
    assert f"{ROWS - 1} accepted" in done.stdout
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
    assert [leg["ended_by"] for leg in world.legs()] == ["complete"]
