"""The process that holds a leg knows which worker processes are there, and waits for them at the end."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from proofsweep.domain.runs import STALE_SECONDS, Claim
from proofsweep.domain.worker_processes import Orders, WorkerReport
from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.lease import own_claim
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.worker_messages import WorkerMessages
from proofsweep.usecases.leg.worker_roll import WorkerRoll, close_workers

ELSEWHERE = Claim(host="h", boot="b", pid=7, process_started="1", claimed_at="2026-11-20T00:00:00+00:00")


@dataclass
class Watched:
    """A roll on a clock of its own."""

    messages: WorkerMessages
    now: float = 0.0
    rests: int = 0
    roll: WorkerRoll = field(init=False)

    def __post_init__(self) -> None:
        self.roll = WorkerRoll(self.messages, uptime=lambda: self.now)

    def report(self, name: str, number: int, process: Claim = ELSEWHERE, *, is_closed: bool = False) -> None:
        """Let a process report, and read it."""
        self.messages.write_report(name, WorkerReport(process=process, number=number, is_closed=is_closed))
        self.roll.read()

    def rest(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.rests += 1


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    """A leg without a worker process."""
    return Watched(WorkerMessages(FolderStore(tmp_path), "r", 1))


@pytest.fixture
def here(watched: Watched) -> Claim:
    """This very process."""
    return own_claim(Legs(Results(watched.messages.store), "r").now(), {})


def test_a_process_that_reports_is_there(watched: Watched) -> None:
    """As long as each report is a new one."""
    for number in range(5):
        watched.report("a", number)
        watched.now += STALE_SECONDS

    assert set(watched.roll.working) == {"a"}


def test_a_silent_process_is_lost(watched: Watched) -> None:
    """Its clock is never asked. If it comes back, it is there again."""
    watched.report("a", 1)
    watched.now += STALE_SECONDS + 1
    watched.roll.read()
    assert watched.roll.lost == {"a"}

    watched.report("a", 2)

    assert watched.roll.lost == set()


def test_a_process_that_a_listing_leaves_out_is_still_there(watched: Watched) -> None:
    """The listing of a bucket may lag behind."""
    watched.report("a", 1)
    watched.messages.delete()
    watched.roll.read()

    assert set(watched.roll.working) == {"a"}


def test_a_process_of_this_machine_that_ended_is_lost_at_once(watched: Watched, here: Claim) -> None:
    """Nobody waits for it."""
    watched.report("a", 1, here)
    watched.report("b", 1, replace(here, process_started="earlier"))

    assert here.pid == os.getpid()
    assert watched.roll.lost == {"b"}


def test_a_process_that_closed_is_neither_there_nor_lost(watched: Watched) -> None:
    """It has written everything down."""
    watched.report("a", 1, is_closed=True)
    watched.now += STALE_SECONDS + 1

    assert (watched.roll.working, watched.roll.lost) == ({}, set())


def test_a_leg_without_worker_processes_needs_no_orders(watched: Watched) -> None:
    """Most legs have none."""
    close_workers(watched.roll, Orders(is_over=True), watched.rest)

    assert (watched.messages.orders(), watched.rests) == (None, 0)


def test_a_process_is_waited_for_until_it_closes(watched: Watched) -> None:
    """It learns from the orders that the leg is over."""
    watched.report("a", 1)

    def close_later(seconds: float) -> None:
        watched.rest(seconds)
        orders = watched.messages.orders()
        assert orders is not None
        assert orders.is_over
        if watched.rests == 3:
            watched.report("a", 2, is_closed=True)

    close_workers(watched.roll, Orders(is_over=True), close_later)

    assert watched.rests == 3


def test_a_lost_process_is_waited_for_until_it_is_known(watched: Watched) -> None:
    """It was killed on another machine."""
    watched.report("a", 1)

    close_workers(watched.roll, Orders(is_over=True), watched.rest)

    assert STALE_SECONDS <= watched.now < STALE_SECONDS + 2
