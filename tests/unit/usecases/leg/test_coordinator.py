"""The process that holds a leg adds up what its worker processes do, and tells them when to stop."""

import threading
from datetime import UTC, datetime

import pytest

from proofsweep.domain.budget.bounds import Bounds
from proofsweep.domain.runs import Claim
from proofsweep.domain.worker_processes import Orders, WorkerReport
from proofsweep.errors import ResultsError, RunMustStop
from proofsweep.storage.results.lease import own_claim
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.worker_messages import WorkerMessages
from proofsweep.usecases.leg.coordinator import Coordinator, coordinated
from proofsweep.usecases.leg.leg_context import LegContext
from proofsweep.usecases.leg.worker_roll import WorkerRoll

from ..conftest import LegBuilder

NOW = datetime(2026, 11, 20, tzinfo=UTC)
GONE = Claim(host="h", boot="b", pid=7, process_started="1", claimed_at=NOW.isoformat())


@pytest.fixture
def leg(new_leg: LegBuilder) -> LegContext:
    """A leg that may make 41 calls."""
    return new_leg.leg(new_leg.plan(3), bounds=Bounds(max_calls=41))


@pytest.fixture
def messages(leg: LegContext) -> WorkerMessages:
    """The leg's messages."""
    return WorkerMessages(leg.results.store, leg.plan.run_id, leg.leg)


@pytest.fixture
def coordinator(leg: LegContext, messages: WorkerMessages) -> Coordinator:
    """What coordinates the leg."""
    return Coordinator(leg, WorkerRoll(messages))


def report(leg: LegContext, **members: object) -> WorkerReport:
    """Make a report of this very process."""
    here = own_claim(Legs(leg.results, leg.plan.run_id).now(), {})
    return WorkerReport(process=here, **members)  # type: ignore[arg-type]  # a test says which


def orders(messages: WorkerMessages) -> Orders:
    """Read the orders, which must be there."""
    found = messages.orders()
    assert found is not None
    return found


def test_what_all_processes_did_is_added_up(
    leg: LegContext, messages: WorkerMessages, coordinator: Coordinator
) -> None:
    """A progress display shows it; the rate of the lane is the sum of what each one finds."""
    messages.write_report("a", report(leg, rows={"accepted": 2}, audio_bytes=10, cpu_seconds=1.0, rate=2.5))
    messages.write_report("b", report(leg, rows={"accepted": 1, "failed": 1}, audio_bytes=5, cpu_seconds=0.5, rate=4.0))

    coordinator.exchange()

    assert leg.counters.rows == {"accepted": 3, "failed": 1}
    assert (leg.counters.audio_bytes, leg.counters.cpu_seconds) == (15, 1.5)
    assert leg.lane.rate == 6.5


def test_without_worker_processes_the_own_counts_stay(leg: LegContext, coordinator: Coordinator) -> None:
    """The tasks may run in this very process after all."""
    leg.counters.rows["accepted"] = 7

    coordinator.exchange()

    assert leg.counters.rows == {"accepted": 7}
    assert leg.counters.lane is None


def test_calls_are_granted_to_those_that_have_work(
    leg: LegContext, messages: WorkerMessages, coordinator: Coordinator
) -> None:
    """What was granted is not granted again."""
    messages.write_report("a", report(leg, is_busy=True))
    messages.write_report("idle", report(leg))

    coordinator.exchange()
    assert orders(messages).granted == {"a": 20}

    coordinator.exchange()
    assert orders(messages).granted == {"a": 20}


def test_a_leg_whose_calls_are_spent_stops(leg: LegContext, messages: WorkerMessages, coordinator: Coordinator) -> None:
    """An item waits for calls, and there are none; the one for the last probe is kept."""
    messages.write_report("a", report(leg, calls=39, is_busy=True, is_waiting=True))

    coordinator.exchange()

    assert leg.stop.reason is not None
    assert leg.stop.reason.ended_by == "window"
    stop = orders(messages).stop
    assert stop is not None
    assert stop.ended_by == "window"


def test_calls_that_another_process_has_in_hand_are_waited_for(
    leg: LegContext, messages: WorkerMessages, coordinator: Coordinator
) -> None:
    """It may return them."""
    messages.write_report("a", report(leg, is_busy=True))
    coordinator.exchange()
    messages.write_report("b", report(leg, number=1, calls=19, is_busy=True, is_waiting=True))

    coordinator.exchange()

    assert leg.stop.reason is None


def test_a_process_that_must_stop_stops_the_leg(
    leg: LegContext, messages: WorkerMessages, coordinator: Coordinator
) -> None:
    """All others are told so."""
    refused = RunMustStop("The key was refused.", ended_by="key_refused")
    messages.write_report("a", report(leg, stop=refused))

    coordinator.exchange()

    assert leg.stop.reason is not None
    stop = orders(messages).stop
    assert stop is not None
    assert (leg.stop.reason.ended_by, stop.message) == ("key_refused", "The key was refused.")


def test_a_request_to_stop_is_passed_on_at_once(leg: LegContext, messages: WorkerMessages) -> None:
    """And then the order to abandon what is in flight."""
    with coordinated(leg):
        assert orders(messages).stop is None
        leg.stop.pull(RunMustStop("Asked to stop.", ended_by="cancelled"))
        wait_until(lambda: orders(messages).stop is not None)
        assert not orders(messages).is_aborted
        leg.stop.abort()
        wait_until(lambda: orders(messages).is_aborted)


def test_the_end_waits_for_all_processes(leg: LegContext, messages: WorkerMessages) -> None:
    """The last report counts; then no message is left."""

    def close() -> None:
        wait_until(lambda: orders(messages).is_over)
        messages.write_report("a", report(leg, number=2, rows={"accepted": 3}, is_closed=True))

    closing = threading.Thread(target=close)
    with coordinated(leg):
        messages.write_report("a", report(leg, number=1, rows={"accepted": 2}))
        closing.start()
    closing.join()

    assert leg.counters.rows == {"accepted": 3}
    assert (messages.orders(), messages.reports()) == (None, {})


def test_a_store_that_fails_for_a_moment_does_not_end_the_coordination(
    leg: LegContext, messages: WorkerMessages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heartbeat decides when it has failed for too long."""
    reads = iter([ResultsError("The store is away."), None])
    usual = leg.results.store.names

    def names(folder: str) -> list[str]:
        if (error := next(reads, None)) is not None:
            raise error
        return usual(folder)

    with coordinated(leg):
        number = orders(messages).number
        monkeypatch.setattr(leg.results.store, "names", names)
        wait_until(lambda: orders(messages).number > number)
    assert leg.stop.reason is None


def wait_until(holds: "object") -> None:
    """Return soon after a condition holds."""
    assert callable(holds)
    pause = threading.Event()
    for _ in range(400):
        if holds():
            return
        pause.wait(0.02)
    pytest.fail("the condition never held")
