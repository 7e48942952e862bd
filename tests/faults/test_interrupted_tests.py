"""An interrupted run of the tests leaves no process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ..supervised import descendants
from ..worlds.waiting import wait_for

ROOT = Path(__file__).parents[2]
KINDS = ROOT / "tests" / "servers" / "all_kinds.py"


@pytest.mark.parametrize(
    ("name", "to_all", "number"),
    [("test_all", True, signal.SIGTERM), ("test_the_one_of_another_user", False, signal.SIGKILL)],
)
def test_nothing_runs_on(name: str, to_all: bool, number: signal.Signals, tmp_path: Path) -> None:
    """Nor a sandbox, PostgreSQL and an S3 server after a SIGTERM, nor what a killed test started."""
    options = ["-q", "-s", "-n", "0", f"--basetemp={tmp_path / 'inner'}", f"{KINDS}::{name}"]
    command = [sys.executable, str(ROOT / "tests" / "supervised.py"), sys.executable, "-m", "pytest", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if "run" in line or "skipped" in line)
        if "skipped" in line:
            pytest.skip("needs postgresql")
        started = descendants(process.pid)
        if to_all:
            os.killpg(process.pid, number)
        else:
            os.kill(started[0], number)
        process.stdout.read()

    assert len(started) > 1
    wait_for(lambda: not [pid for pid in started if Path(f"/proc/{pid}").exists()])
    assert process.returncode != 0
