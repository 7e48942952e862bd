"""A disk that fills up during a run costs nothing that was finished, and the error is one line."""

import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from ..servers.foreign_service import Answer
from ..worlds.foreign_world import ForeignWorld

ROWS = 400

NOTICED_SECONDS = 4.0  # a write fails within one, and stops new items
FULL_SECONDS = 6.0  # so that an item which starts too late would be seen
VERIFY_SECONDS, VERIFY_SECONDS_WHILE_FULL = 0.02, 0.2  # so that rows remain when the disk has room again


def fill(filler: Path) -> None:
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_a_full_disk_ends_the_run_and_resume_finishes_it(world: ForeignWorld, small_disk: Path) -> None:
    """The run stops with one line and no traceback; when there is space again, each row is there once."""
    catalog = world.catalog(*["valid", "tampered"] * (ROWS // 2))
    filler = small_disk / "filler"

    def fill_once(number: int, usual: Answer) -> Answer:
        if number == ROWS // 4:
            fill(filler)
        return usual

    world.service.changes["verify"] = fill_once

    stopped = world.start("verify", catalog).wait()
    filler.unlink()
    code = world.run("resume")

    assert (stopped, code) == (8, 3)
    assert "No space left" in world.logs
    assert "proofsweep resume" in world.logs
    assert "Traceback" not in world.logs
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
    assert [row["verdict"] for row in world.rows()] == ["valid", "tampered"] * (ROWS // 2)


def test_a_run_waits_for_a_disk_that_is_full_for_a_time(
    world: ForeignWorld, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile it starts no new item, since it could not record it; then the same leg continues."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "60")
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "16")
    filler = small_disk / "filler"
    started: list[int] = []

    def note() -> None:
        started.append(world.service.received["uploads"])

    def end() -> None:
        note()
        filler.unlink()

    def fill_for_a_time(number: int, usual: Answer) -> Answer:
        time.sleep(VERIFY_SECONDS_WHILE_FULL if filler.exists() else VERIFY_SECONDS)
        if number == ROWS // 4:
            fill(filler)
            threading.Timer(NOTICED_SECONDS, note).start()
            threading.Timer(FULL_SECONDS, end).start()
        return usual

    world.service.changes["verify"] = fill_for_a_time

    code = world.run("verify", world.catalog(*["valid"] * ROWS))

    assert code == 0
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
    assert len(world.legs()) == 1
    assert started[0] == started[1] < ROWS
