"""Whoever reads what a command prints may leave before its end, as `head` does."""

import subprocess
import sys
from typing import Any

import pytest

World = Any


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_run_goes_on_and_its_exit_code_is_its_own(world: World, options: list[str]) -> None:
    """What is printed is lost, and nothing else; there is no traceback either."""
    arguments = ["verify", world.catalog("valid", "tampered"), "--results", world.results_url, *options]

    process = subprocess.Popen(
        [sys.executable, "-m", "cli", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    told = process.communicate(timeout=120)[1]

    assert process.returncode == 3
    assert "Traceback" not in told
    assert "BrokenPipe" not in told
    assert [leg["ended_by"] for leg in world.legs()] == ["complete"]
