"""A disk that fills up in mid-run costs nothing that was finished, and says so in one line."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

World = Any

ROWS = 400
SIZE_BYTES = 4 * 1024 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of a few MiB, where the results go."""
    place = tmp_path / "results"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE_BYTES}", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount a small file system")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def fill(filler: Path) -> None:
    """Take all the room that there is."""
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_a_full_disk_ends_the_run_and_resume_finishes_it(world: World, small_disk: Path) -> None:
    """The run stops with one line and no traceback; with room again, every row is there once."""
    catalog = world.catalog(*["valid", "tampered"] * (ROWS // 2))
    filler = small_disk / "filler"
    world.service.twists["verify"] = lambda number, usual: (number == ROWS // 4 and fill(filler)) or usual
    verify = [sys.executable, "-m", "cli", "verify", catalog, "--results", str(small_disk)]

    stopped = subprocess.run(verify, capture_output=True, text=True, check=False)
    filler.unlink()
    code = world.run("resume")

    assert (stopped.returncode, code) == (8, 3)
    assert "No space left" in stopped.stderr
    assert "proofsweep resume" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
    assert [row["verdict"] for row in world.rows()] == ["valid", "tampered"] * (ROWS // 2)


def test_a_disk_that_is_full_for_a_moment_is_waited_for(
    world: World, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile nothing new is begun, as it could not be written down; then the same leg goes on."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "60")
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "16")
    asked, filler = world.service.asked, small_disk / "filler"
    standstill: list[int] = []

    def fill_for_a_while(number: int, usual: Any) -> Any:  # noqa: ANN401 - the fixture's type
        time.sleep(0.2 if filler.exists() else 0.02)  # not so fast that all is over before anybody has noticed
        if number == ROWS // 4:
            fill(filler)
            threading.Timer(4.0, lambda: standstill.append(asked["uploads"])).start()
            threading.Timer(6.0, lambda: standstill.append(asked["uploads"]) or filler.unlink()).start()
        return usual

    world.service.twists["verify"] = fill_for_a_while

    code = world.run("verify", world.catalog(*["valid"] * ROWS))

    assert code == 0
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
    assert len(world.legs()) == 1
    assert standstill[0] == standstill[1] < ROWS
