"""A read that never returns, as of a hard mount whose server is gone: nobody waits for it, and the leg says where."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proofsweep.config.threads import background_thread
from proofsweep.domain.errors import RunMustStop
from proofsweep.files import local_files
from proofsweep.verify import leg as leg_module
from proofsweep.verify.leg import Leg
from proofsweep.verify.worker import verify_batch, work_last
from proofsweep.verify.workers import Workers

from ..conftest import LegBuilder
from ..left_behind import journal_rows
from ..scripted_service import ScriptedService

SECONDS = 0.2
Hang = Callable[[str, str], threading.Event]


@pytest.fixture
def hang(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hang]:
    """Let a call of `os` hang for one file, until the event is set."""
    over: list[threading.Event] = []

    def begin(name: str, path: str) -> threading.Event:
        over.append(threading.Event())
        call, inode, ends = getattr(os, name), Path(path).stat().st_ino, over[-1]

        def hanging(where: int | str, *given: int, **named: int) -> object:
            if not named and os.stat(where).st_ino == inode:  # noqa: PTH116 -- a path or a descriptor
                ends.wait(10.0)
            return call(where, *given, **named)

        monkeypatch.setattr(os, name, hanging)
        return ends

    yield begin
    for ends in over:
        ends.set()


@pytest.fixture
def leg(new_leg: LegBuilder, monkeypatch: pytest.MonkeyPatch) -> Leg:
    """A leg of four files that is watched as always, only sooner."""
    monkeypatch.setattr(leg_module, "_COUNT_SECONDS", SECONDS / 10)
    monkeypatch.setattr(leg_module, "_ABORT_SECONDS", SECONDS)
    monkeypatch.setattr(local_files, "HANGS_AFTER_SECONDS", SECONDS)
    return new_leg.leg(new_leg.plan(4))


def written(leg: Leg) -> list[int]:
    leg.trail.journal.flush()
    return sorted(row for row in journal_rows(leg.results, leg.plan, leg.number) if row is not None)


def audio_of(leg: Leg, row: int) -> str:
    return next(leg.completed.items(range(row, row + 1))).audio


@pytest.mark.parametrize("call", ["open", "pread"])
def test_a_read_that_hangs_makes_its_place_away(
    leg: Leg, hang: Hang, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other files go on; the leg ends as for a share that went, and names the place and its files."""
    leg.attribution.outage_seconds = SECONDS
    monkeypatch.setattr("proofsweep.files.mounts._listed_mounts", list)
    hang(call, audio_of(leg, 1))

    with background_thread("watch", leg.heartbeat.watch):
        finished = verify_batch(leg)
        work_last(leg)

    assert finished == 3
    assert written(leg) == [0, 2, 3]
    assert leg.stop.reason is not None
    assert f"{leg.plan.catalog} is away: it has not answered" in leg.stop.reason.message
    assert "Files in it: 1." in leg.stop.reason.message
    assert leg.budget.in_flight == 1  # the thread itself


def test_a_read_that_ends_after_all_is_an_error_and_its_file_is_tried_again(leg: Leg, hang: Hang) -> None:
    """What it began with is no longer asked for, and the file has one row."""
    ends = hang("pread", audio_of(leg, 1))
    with background_thread("watch", leg.heartbeat.watch):
        assert verify_batch(leg) == 3
        ends.set()
        work_last(leg)

    assert written(leg) == [0, 1, 2, 3]
    assert leg.stop.reason is None


def test_a_slot_of_a_read_that_hangs_is_given_back(leg: Leg, hang: Hang, service: ScriptedService) -> None:
    """Else sixteen of them would keep all others from beginning."""
    ends: list[threading.Event] = []
    service.on_call = lambda _call: ends or ends.append(hang("pread", audio_of(leg, 0)))

    with background_thread("watch", leg.heartbeat.watch):
        verify_batch(leg, range(1))

    assert leg.scheduler._queue._slots == {}


def test_a_leg_that_is_aborted_waits_for_no_read(leg: Leg, hang: Hang, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it ended: the window, a person, the drain that is over."""
    monkeypatch.setattr(local_files, "HANGS_AFTER_SECONDS", 600.0)
    leg.heartbeat.drain_seconds = 0.0
    hang("open", audio_of(leg, 1))

    with background_thread("watch", leg.heartbeat.watch):
        stop = RunMustStop("Enough.", ended_by="cancelled")
        threading.Timer(SECONDS, leg.stop.pull, [stop]).start()
        verify_batch(leg)
        work_last(leg)
    leg.workers.shutdown()

    assert 1 not in written(leg)


def test_a_check_that_hangs_ends_the_leg(leg: Leg, hang: Hang) -> None:
    """All others wait for its evidence, so nothing could go on beside it."""
    leg.heartbeat.drain_seconds = 0.0
    for row in range(4):
        Path(audio_of(leg, row)).unlink()  # so that their folder is looked at
    hang("scandir", leg.plan.catalog)
    with background_thread("watch", leg.heartbeat.watch):
        verify_batch(leg)
        work_last(leg)

    assert leg.stop.reason is not None
    assert "has not answered" in leg.stop.reason.message
    assert written(leg) == []


def test_what_is_done_beside_items_keeps_no_thread_from_them() -> None:
    """Also if one thread has worked on many items before, and is the only one that they have."""
    workers = Workers(1)
    for future in [workers.submit(int) for _ in range(6)]:
        future.result(5.0)

    assert workers.await_beside(lambda: workers.submit(int).result(5.0)) == 0
    workers.shutdown()


def test_only_looks_count_so_a_process_that_was_frozen_takes_no_read_for_one_that_hangs() -> None:
    reads = local_files.ReadWatch(seconds_between=20.0)
    with local_files.Awaited("/mnt/a/x.wav") as awaited:
        looks = [reads.look() for _ in range(4)]

    assert [(threading.get_ident(), awaited) in found for found in looks] == [False, False, True, False]
