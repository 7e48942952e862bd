"""A worker process makes the calls that were granted to it, and waits for more."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.budget.bounds import Bounds
from proofsweep.domain.budget.budget import calls_of
from proofsweep.domain.exchanges import Call
from proofsweep.domain.worker_processes import GRANT_SECONDS
from proofsweep.errors import RunMustStop
from proofsweep.usecases.leg.granted_budget import GrantedBudget

from ...domain.budget.test_budget import exchange

NOW = datetime(2026, 11, 20, tzinfo=UTC)


@dataclass
class Process:
    """A worker process with its clock."""

    bounds: Bounds = field(default_factory=Bounds)
    uptime: float = 100.0
    stop: StopSwitch = field(default_factory=StopSwitch)
    budget: GrantedBudget = field(init=False)

    def __post_init__(self) -> None:
        partner: Any = None
        self.budget = GrantedBudget(self.bounds, partner, self.stop, lambda: NOW, uptime=lambda: self.uptime)


@pytest.fixture
def process() -> Iterator[Process]:
    """A process whose waiting items end with the test."""
    process = Process()
    yield process
    process.stop.pull(RunMustStop("The test is over.", ended_by="cancelled"))


def test_an_item_begins_with_two_calls(process: Process) -> None:
    """The leg's own last probe is not this process's affair."""
    process.budget.grant(4)

    assert process.budget.admits(0)
    assert not process.budget.is_dry
    assert process.budget.admits(1)
    assert process.budget.is_dry


def test_an_item_waits_until_its_calls_are_granted(process: Process) -> None:
    """The leg goes on meanwhile; others may return what they do not need."""
    with ThreadPoolExecutor(1) as pool:
        begun = pool.submit(process.budget.admits, 0)
        while not process.budget.is_waiting:
            pass
        process.budget.grant(2)

        assert begun.result(timeout=10)
    assert process.stop.reason is None


def test_an_item_that_waits_does_not_begin_when_the_leg_ends(process: Process) -> None:
    """Its row remains."""
    threading.Timer(0.05, process.stop.pull, [RunMustStop("Enough.", ended_by="cancelled")]).start()

    assert not process.budget.admits(0)


def test_without_a_bound_any_number_begins(process: Process) -> None:
    """As long as orders come."""
    process.budget.grant(None)

    assert all(process.budget.admits(row) for row in range(500))
    assert process.budget.hand_back(is_idle=True) == 0


def test_a_grant_ends_when_no_orders_come(process: Process) -> None:
    """The process that holds the leg may be dead."""
    process.budget.grant(None)
    process.uptime += GRANT_SECONDS

    assert process.budget.is_dry


def test_a_window_closes_here_too() -> None:
    """Each process looks at its own clock."""
    process = Process(Bounds(closes_at=NOW - timedelta(seconds=1), max_calls=50))
    process.budget.grant(None)

    assert not process.budget.admits(0)
    assert process.stop.reason is not None
    assert process.stop.reason.ended_by == "window"


def test_a_process_without_work_returns_its_calls(process: Process) -> None:
    """Others may need them; afterwards it has none."""
    process.budget.grant(10)
    process.budget.note(exchange(Call.USAGE), None)

    assert process.budget.hand_back(is_idle=False) == 0
    assert process.budget.hand_back(is_idle=True) == 9
    assert process.budget.is_dry


def test_calls_that_are_too_few_for_a_proof_are_returned(process: Process) -> None:
    """It waits for three; two would never do."""
    process.budget.grant(2)
    with ThreadPoolExecutor(1) as pool:
        begun = pool.submit(process.budget.admits, 0, calls_of("proof:p"))
        while not process.budget.is_waiting:
            pass

        assert process.budget.is_dry
        assert process.budget.hand_back(is_idle=False) == 2
        process.budget.grant(5)
        assert begun.result(timeout=10)


def test_a_call_that_is_too_little_for_an_item_is_returned(process: Process) -> None:
    """What items in flight still need is kept."""
    process.budget.grant(3)
    assert process.budget.admits(0)

    assert process.budget.hand_back(is_idle=False) == 1
    assert process.budget.spent == 0
