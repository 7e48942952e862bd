"""A run that is asked to stop does not wait for slow uploads, and loses nothing that was finished."""

import csv
import ctypes
import signal
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from ..servers.foreign_service import Answer
from ..worlds.command_world import said, wav_of
from ..worlds.foreign_world import ForeignWorld
from ..worlds.started_command import ForkedProcess

SMALL, LARGE = 210, 6  # more than 200, so that batches are verified in order, and not single items
LARGE_BYTES = 16 * 1024 * 1024
STORAGE_RATE = 100_000
UPLOAD_SECONDS = LARGE_BYTES / STORAGE_RATE
UPLOADS_AT_ONCE = 16


def with_large_files(world: ForeignWorld) -> str:
    """Write a catalog of small files, and then a large one again and again; give its path."""
    catalog = Path(world.catalog(*["valid"] * SMALL))
    large = world.folder / "large.wav"
    large.write_bytes(wav_of(bytes(LARGE_BYTES)))
    with catalog.open("a", newline="") as file:
        csv.writer(file).writerows([[large]] * LARGE)
    return str(catalog)


def start(world: ForeignWorld, *arguments: str) -> ForkedProcess:
    """Start a leg with slow storage; return when a large file is being sent."""
    world.service.storage_rate = STORAGE_RATE
    # none of the small files is refused, so silence is sent once
    before = world.service.received["uploads"] + (SMALL + 1 if arguments[0] == "verify" else 0)
    process = world.start(*arguments)
    world.wait_for(lambda: world.service.received["uploads"] > before or process.poll() is not None)
    return process


def signal_a_thread(process: ForkedProcess, number: signal.Signals) -> None:
    """Send a signal to a thread that is not the main one, as the system may do."""
    others = {int(one.name) for one in Path(f"/proc/{process.pid}/task").iterdir()} - {process.pid}
    assert ctypes.CDLL(None).tgkill(process.pid, max(others), number) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="uses a Linux call that signals one thread of another process")
def test_uploads_that_would_take_minutes_are_aborted_however_a_run_is_stopped(
    world: ForeignWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One leg ends at once, one when the drain time is over, one by a request; the last does the rest.

    (1) After a second signal, rows that were finished, but not yet on disk, are there for `resume`. (2) SIGTERM may
    reach any thread. (3) `stop` reaches the run through the results store alone, and another process follows it.
    """
    monkeypatch.setenv("PROOFSWEEP_BOUNDS__DRAIN_SECONDS", "1")
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "1")  # so the small files are finished when the large one starts
    process = start(world, "verify", with_large_files(world))
    process.send_signal(signal.SIGTERM)  # (1)
    process.send_signal(signal.SIGINT)
    codes = [process.wait(UPLOAD_SECONDS / 3), world.run("status", world.runs[0])]
    status = capsys.readouterr().out

    since, process = time.monotonic(), start(world, "resume")
    signal_a_thread(process, signal.SIGTERM)  # (2)
    codes += [process.wait(UPLOAD_SECONDS / 3)]
    calls = Counter(row["call"] for row in world.table("exchanges") if row["leg"] == 2)

    process = start(world, "resume")
    following = world.start("status", "--follow")
    world.wait_for(lambda: f"process {process.pid} on " in world.logs or f"{SMALL:,} of " in world.logs)
    codes += [world.run("stop"), process.wait(UPLOAD_SECONDS / 3), following.wait(60)]  # (3)
    stopped = capsys.readouterr().out

    world.service.storage_rate = None
    assert [*codes, world.run("resume")] == [6, 6, 6, 0, 6, 6, 0], world.logs
    assert "stopped: its process or its machine is gone" in status
    assert calls["uploads"] == calls["slot"] > 0
    assert f"leg 3 has ended (cancelled). {LARGE} of {SMALL + LARGE} rows remain: proofsweep resume " in stopped
    assert "It was stopped by `proofsweep stop`, asked on " in world.logs
    assert [leg["ended_by"] for leg in world.legs()] == ["killed", "interrupted", "cancelled", "complete"]
    assert Counter(row["leg"] for row in world.rows()) == {1: SMALL, 4: LARGE}
    assert world.service.ids(since) <= {row["request_id"] for row in world.table("exchanges")}


def test_files_in_flight_that_need_one_retry_are_finished_after_ctrl_c(
    world: ForeignWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of sixteen uploads gets one 503 after the stop: none of their calls is made again by the next leg."""
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "40")
    catalog, is_stopping = world.catalog(*["valid"] * 60), threading.Event()

    def refuse_once(number: int, usual: Answer) -> Answer:
        if number >= UPLOADS_AT_ONCE:
            return usual
        is_stopping.wait(60)
        return replace(usual, status=503)

    world.service.changes["slot"] = refuse_once
    process = world.start("verify", catalog)
    world.wait_for(lambda: world.service.received["slot"] >= UPLOADS_AT_ONCE or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    world.wait_for(lambda: "stopping, " in said("status", world.runs[0], "--results", world.results_url))
    is_stopping.set()
    code = process.wait(60)
    begun = {row["manifest_row"] for row in world.table("exchanges") if row["call"] == "uploads"}

    assert (code, len(begun)) == (6, UPLOADS_AT_ONCE), world.logs
    assert {row["manifest_row"] for row in world.rows()} == begun
    assert {row["outcome"] for row in world.rows()} == {"accepted"}


def ignore_hangups() -> None:
    """Begin as under `nohup`."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def test_a_terminal_that_is_closed_stops_a_run_in_good_order(
    world: ForeignWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its shell and the system each send SIGHUP, which is one request. Under `nohup` a run goes on."""
    monkeypatch.setenv("PROOFSWEEP_BOUNDS__DRAIN_SECONDS", "1")
    catalog = world.catalog("valid", "valid")
    world.service.storage_rate = 500
    process = world.start("verify", catalog)
    world.wait_for(lambda: world.service.received["uploads"] > 1 or process.poll() is not None)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGHUP)
    codes = [process.wait(60)]

    uploads, world.service.storage_rate = world.service.received["uploads"], 20_000
    process = world.start("resume", before=ignore_hangups)
    world.wait_for(lambda: world.service.received["uploads"] > uploads or process.poll() is not None)
    process.send_signal(signal.SIGHUP)

    assert [*codes, process.wait(60)] == [6, 0], world.logs
    assert [leg["ended_by"] for leg in world.legs()] == ["interrupted", "complete"]
