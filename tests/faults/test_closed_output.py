"""The reader of a command's output may close it early, as `head` does."""

import subprocess
import sys

from ..worlds.foreign_world import ForeignWorld


def test_a_run_goes_on_and_its_exit_code_is_its_own(world: ForeignWorld) -> None:
    """Only the printed text is lost, and there is no traceback; a document in JSON is lost as well."""
    verified = close_early("verify", world.catalog("valid", "tampered"), "--results", world.results_url)
    asked = close_early("status", world.runs[0], "--json", "--results", world.results_url)

    assert (verified, asked) == ((3, ""), (3, ""))
    assert [leg["ended_by"] for leg in world.legs()] == ["complete"]


def close_early(*arguments: str) -> tuple[int, str]:
    """Run a command, close its output at once, and return its exit code and what it says on stderr."""
    command = [sys.executable, "-m", "proofsweep_cli", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.close()
        errors = process.communicate(timeout=200)[1]
    return process.returncode, errors
