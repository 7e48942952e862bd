"""The reader of a command's output may close it early, as `head` does."""

import shutil
import subprocess
import sys

from ..worlds.foreign_world import ForeignWorld


def test_a_run_goes_on_and_its_exit_code_is_its_own(world: ForeignWorld) -> None:
    """Only the printed text is lost, and there is no traceback; with `--json` too."""
    catalog = world.catalog("valid", "tampered")
    runs = ([catalog], [str(shutil.copy(catalog, world.folder / "other.csv")), "--json"])
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "proofsweep_cli", "verify", *arguments, "--results", world.results_url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for arguments in runs
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.close()
    errors = "".join(process.communicate(timeout=200)[1] for process in processes)

    assert [process.returncode for process in processes] == [3, 3]
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors
    assert [leg["ended_by"] for leg in world.legs()] == ["complete"] * 2
