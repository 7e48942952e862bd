"""A run that is asked to stop does not wait for slow uploads, and loses nothing that was finished."""

import csv
import ctypes
import signal
import subprocess
import sys
import wave
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..worlds.foreign_world import ForeignWorld

StartRun = Callable[[], "subprocess.Popen[bytes]"]

SMALL, LARGE = 210, 6  # more than 200, so that batches are verified in order, and not single items
LARGE_BYTES = 16 * 1024 * 1024
STORAGE_RATE = 100_000
UPLOAD_SECONDS = LARGE_BYTES / STORAGE_RATE


def with_large_files(world: ForeignWorld) -> str:
    """Write a catalog of small files, and then a large one again and again; give its path."""
    catalog = Path(world.catalog(*["valid"] * SMALL))
    large = world.folder / "large.wav"
    with wave.open(str(large), "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(bytes(LARGE_BYTES))
    with catalog.open("a", newline="") as file:
        csv.writer(file).writerows([[large]] * LARGE)
    return str(catalog)


@pytest.fixture
def start_run(world: ForeignWorld) -> Iterator[StartRun]:
    """Start a run with slow storage; return when the small files are done and a large one is being sent."""
    processes: list[subprocess.Popen[bytes]] = []

    def start() -> "subprocess.Popen[bytes]":
        world.service.storage_rate = STORAGE_RATE
        processes.append(world.start("verify", with_large_files(world)))
        small, received = SMALL + 1, world.service.received  # none is refused, so silence is sent once
        world.wait_for(lambda: received["verify"] == small and received["uploads"] > small)
        return processes[0]

    yield start
    for process in processes:
        process.kill()
        process.wait()


def resume(world: ForeignWorld) -> int:
    world.service.storage_rate = None
    return world.run("resume")


def signal_a_thread(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    """Send a signal to a thread that is not the main one, as the system may do."""
    others = {int(one.name) for one in Path(f"/proc/{process.pid}/task").iterdir()} - {process.pid}
    assert ctypes.CDLL(None).tgkill(process.pid, max(others), number) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="uses a Linux call that signals one thread of another process")
def test_uploads_that_would_take_minutes_are_aborted(
    world: ForeignWorld, start_run: StartRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After SIGTERM, to any thread, the run ends when the drain time is over; `resume` does the rest."""
    monkeypatch.setenv("PROOFSWEEP_BOUNDS__DRAIN_SECONDS", "1")
    process = start_run()

    signal_a_thread(process, signal.SIGTERM)
    stopped = process.wait(timeout=UPLOAD_SECONDS / 3)
    calls = Counter(row["call"] for row in world.table("exchanges"))
    code = resume(world)

    assert (stopped, code) == (6, 0)
    assert [leg["ended_by"] for leg in world.legs()] == ["interrupted", "complete"]
    assert Counter(row["leg"] for row in world.rows()) == {1: SMALL, 2: LARGE}
    assert calls["uploads"] == calls["slot"] > SMALL
    assert world.service.ids() <= {row["request_id"] for row in world.table("exchanges")}


def test_a_second_request_ends_the_run_at_once_and_loses_nothing(
    world: ForeignWorld, start_run: StartRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows that were finished, but not yet on disk, are there for `resume`."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "1")  # so the small files are finished when the large one starts
    process = start_run()

    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    stopped = process.wait(timeout=UPLOAD_SECONDS / 3)
    status, printed = world.run("status", world.runs[0]), capsys.readouterr().out
    code = resume(world)

    assert (stopped, status, code) == (6, 6, 0)
    assert "the leg was killed" in printed
    assert [leg["ended_by"] for leg in world.legs()] == ["killed", "complete"]
    assert Counter(row["leg"] for row in world.rows()) == {1: SMALL, 2: LARGE}


def test_another_process_follows_a_run_and_stops_it(
    world: ForeignWorld, start_run: StartRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through the results store alone: the uploads that would take minutes are aborted, and `resume` does the rest."""
    monkeypatch.setenv("PROOFSWEEP_BOUNDS__DRAIN_SECONDS", "1")
    process = start_run()
    following = world.start("status", "--follow")
    world.wait_for(lambda: f"process {process.pid} on " in world.logs or f"{SMALL:,} of " in world.logs)

    stopped, printed = world.run("stop"), capsys.readouterr().out
    codes = process.wait(timeout=UPLOAD_SECONDS / 3), following.wait(timeout=60)
    code = resume(world)

    assert (stopped, codes, code) == (0, (6, 6), 0), world.logs
    assert f"leg 1 has ended (cancelled). {LARGE} of {SMALL + LARGE} rows remain: proofsweep resume " in printed
    assert "It was stopped by `proofsweep stop`, asked on " in world.logs
    assert [leg["ended_by"] for leg in world.legs()] == ["cancelled", "complete"]
    assert Counter(row["leg"] for row in world.rows()) == {1: SMALL, 2: LARGE}
