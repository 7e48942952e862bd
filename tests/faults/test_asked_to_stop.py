"""Whoever asks a run to stop need not wait for a slow line, and loses nothing that was finished."""

import csv
import ctypes
import signal
import subprocess
import sys
import wave
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

World = Any
Begin = Callable[[], "subprocess.Popen[bytes]"]

SMALL, LARGE = 210, 6  # so many that they are taken in order, and not as a task each
MANY_SECONDS = 16 * 1024 * 1024 / 100_000


def with_large_files(world: World) -> str:
    """Write a catalog of small files, and then a large one again and again; give its path."""
    catalog = Path(world.catalog(*["valid"] * SMALL))
    large = world.folder / "large.wav"
    with wave.open(str(large), "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(bytes(16 * 1024 * 1024))
    with catalog.open("a", newline="") as file:
        csv.writer(file).writerows([[large]] * LARGE)
    return str(catalog)


@pytest.fixture
def begin(world: World) -> Iterator[Begin]:
    """Start a run on a slow line; come back when the small files are through and a large one is on its way."""
    processes: list[subprocess.Popen[bytes]] = []

    def begun() -> "subprocess.Popen[bytes]":
        world.service.storage_rate = 100_000
        processes.append(world.start("verify", with_large_files(world)))
        world.wait_for(lambda: world.service.asked["verify"] == SMALL and world.service.asked["uploads"] > SMALL)
        return processes[0]

    yield begun
    for process in processes:
        process.kill()
        process.wait()


def go_on(world: World) -> int:
    """Resume with the line as fast as it should be."""
    world.service.storage_rate = None
    return int(world.run("resume"))


def signal_a_thread(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    """Send a signal to a thread that is not the main one, as the system itself does now and then."""
    others = {int(one.name) for one in Path(f"/proc/{process.pid}/task").iterdir()} - {process.pid}
    assert ctypes.CDLL(None).tgkill(process.pid, max(others), number) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="threads of another process are addressed as in Linux")
def test_uploads_that_would_take_minutes_are_broken_off(
    world: World, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGTERM, whichever thread gets it, ends the run when the time for draining is over; `resume` does the rest."""
    monkeypatch.setenv("PROOFSWEEP_BOUNDS__DRAIN_SECONDS", "1")
    process = begin()

    signal_a_thread(process, signal.SIGTERM)
    stopped = process.wait(timeout=MANY_SECONDS / 3)
    calls = Counter(row["call"] for row in world.table("exchanges"))
    code = go_on(world)

    assert (stopped, code) == (6, 0)
    assert [leg["ended_by"] for leg in world.legs()] == ["cancelled", "complete"]
    assert Counter(row["leg"] for row in world.rows()) == {1: SMALL, 2: LARGE}
    assert calls["uploads"] == calls["slot"] > SMALL
    assert world.service.ids() <= {row["request_id"] for row in world.table("exchanges")}


def test_a_second_request_ends_the_run_at_once_and_loses_nothing(
    world: World, begin: Begin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was finished a moment ago, and was not on disk yet, is there for `resume`."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "1")  # when the large file comes, the small ones are finished
    process = begin()

    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    stopped = process.wait(timeout=MANY_SECONDS / 3)
    status, told = world.run("status"), capsys.readouterr().out
    code = go_on(world)

    assert (stopped, status, code) == (6, 6, 0)
    assert "the leg was killed" in told
    assert [leg["ended_by"] for leg in world.legs()] == ["killed", "complete"]
    assert Counter(row["leg"] for row in world.rows()) == {1: SMALL, 2: LARGE}
