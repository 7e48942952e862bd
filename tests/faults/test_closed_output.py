"""The reader of a command's output may close it early, as `head` does."""

import subprocess
import sys

import pytest

from ..worlds.foreign_world import ForeignWorld


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_run_goes_on_and_its_exit_code_is_its_own(world: ForeignWorld, options: list[str]) -> None:
    """Only the printed text is lost, and there is no traceback."""
    arguments = ["verify", world.catalog("valid", "tampered"), "--results", world.results_url, *options]

    process = subprocess.Popen(
        [sys.executable, "-m", "proofsweep_cli", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    errors = process.communicate(timeout=120)[1]

    assert process.returncode == 3
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors
    assert [leg["ended_by"] for leg in world.legs()] == ["complete"]
