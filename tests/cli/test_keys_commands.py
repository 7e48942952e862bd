"""Keys are listed and rotated over a real socket."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from socket import gethostname

import pytest

import proofsweep_sandbox as sandbox

from ..worlds.waiting import wait_for
from .conftest import Command


@pytest.fixture
def key_file(workdir: Path) -> Path:
    """The key of a tenant of this test alone."""
    return workdir.parent / "key"


def test_a_key_is_rotated_and_then_known(proofsweep: Command, key_file: Path) -> None:
    """Only after a confirmation. The list shows the new key; no output holds one."""
    old = key_file.read_text().strip()

    unconfirmed = proofsweep("keys", "rotate")
    assert (unconfirmed.returncode, "--yes" in unconfirmed.stderr, key_file.read_text()) == (2, True, old)
    before, done, after = (
        proofsweep("keys", "list"),
        proofsweep("keys", "rotate", "--yes", "--json"),
        proofsweep("keys", "list"),
    )

    new = key_file.read_text().strip()
    rotated = json.loads(done.stdout)
    assert [each.returncode for each in (before, done, after)] == [0, 0, 0]
    assert f"{rotated['new_key_id']}  " in after.stdout
    assert new != old
    assert not [key for key in (old, new) if key in before.stdout + done.stdout + after.stdout + done.stderr]


def test_a_key_that_was_rotated_elsewhere_is_one_line(proofsweep: Command, key_file: Path, tmp_path: Path) -> None:
    """Another results store knows nothing of the first rotation; the service refuses with 409."""
    old = key_file.read_text()
    proofsweep("keys", "rotate", "--yes")
    key_file.write_text(old)

    done = proofsweep("keys", "rotate", "--yes", "--results", tmp_path / "other")

    assert done.returncode == 4
    assert "Status 409" in done.stderr
    assert "rotated before, perhaps elsewhere" in done.stderr
    assert len([line for line in done.stderr.splitlines() if "New results store" not in line]) == 1


def test_a_machine_that_has_the_old_key_still_is_told_where_the_new_one_is(proofsweep: Command, key_file: Path) -> None:
    """By the same command and by `doctor`; both shared the results store, and the file has one name on both."""
    old = key_file.read_text()
    proofsweep("keys", "rotate", "--yes")
    key_file.write_text(old)

    done, doctor = proofsweep("keys", "rotate", "--yes"), proofsweep("doctor")

    assert (done.returncode, doctor.returncode) == (4, 4)
    for said in (done.stderr, doctor.stdout):
        assert f"The new key is in {key_file} on {gethostname()}: put it into the place of the old one" in said
    assert key_file.read_text() == old


def test_a_rotation_whose_process_is_killed_is_finished_by_the_next_one(
    proofsweep: Command, running: sandbox.Running, key_file: Path
) -> None:
    """SIGKILL while the new key is tested: it waits beside the old one."""
    old, waiting = key_file.read_text(), key_file.with_name("key.new")
    running.operator.add_fault("usage", "slow", seconds=30.0)
    try:
        command = [sys.executable, "-m", "proofsweep_cli", "keys", "rotate", "--yes"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            wait_for(waiting.exists)
            process.send_signal(signal.SIGKILL)
        assert key_file.read_text() == old
    finally:
        running.operator.clear_faults()
    told = proofsweep("doctor")
    assert (told.returncode, "was not finished" in told.stdout) == (4, True)

    done = proofsweep("keys", "rotate", "--yes")

    assert done.returncode == 0
    assert key_file.read_text() != old
    assert not waiting.exists()
    listed = json.loads(proofsweep("keys", "list", "--json").stdout)["keys"]
    assert len(listed) == 2  # one new key was made


def test_a_busy_lane_of_rotations_is_waited_for_a_short_time_only(
    proofsweep: Command, running: sandbox.Running, key_file: Path
) -> None:
    """A long wait ends the command with exit code 8, and says what to do."""
    old = key_file.read_text()
    running.operator.add_fault("rotate", "status", status=429, headers={"Retry-After": "4000"})
    try:
        done = proofsweep("keys", "rotate", "--yes")
    finally:
        running.operator.clear_faults()

    assert done.returncode == 8
    assert "Run the same command later" in done.stderr
    assert key_file.read_text() == old
