"""A worker process does its part of a leg, obeys its orders, and writes everything down before it closes."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import Slice
from proofsweep.domain.worker_processes import Orders, WorkerReport
from proofsweep.errors import RunMustStop
from proofsweep.storage.results.lease import own_claim
from proofsweep.storage.results.worker_messages import WorkerMessages
from proofsweep.usecases.leg.audit_trail import AuditTrail
from proofsweep.usecases.leg.begun_slices import begin_slice
from proofsweep.usecases.leg.granted_budget import GrantedBudget
from proofsweep.usecases.leg.leg_context import LegContext
from proofsweep.usecases.leg.worker_heartbeat import WorkerHeartbeat
from proofsweep.usecases.leg.worker_process import WorkerProcess

from ..conftest import LegBuilder
from ..left_behind import exchange, journal_rows, rows_of, write_journal, write_part
from ..scripted_service import NOW, Scripted, ScriptedService

ALL = Slice(0, 0, 3)


@dataclass
class Worker:
    """A worker process that follows a leg of one shard; the test gives its orders."""

    process: WorkerProcess
    messages: WorkerMessages
    thread: threading.Thread
    aborts: list[bool]

    @property
    def leg(self) -> LegContext:
        """Its context."""
        return self.process.leg

    @property
    def report(self) -> WorkerReport:
        """Its last report."""
        return self.messages.reports()["w"]

    def order(self, number: int, granted: int | None = None, **members: object) -> None:
        """Give orders."""
        self.messages.write_orders(Orders(number=number, granted={"w": granted}, **members))  # type: ignore[arg-type]

    def end(self) -> None:
        """Let the leg be over, and wait until the process has closed."""
        self.order(99, is_over=True)
        self.process.exchange()
        self.thread.join(10)
        assert not self.thread.is_alive()


@pytest.fixture
def new_worker(new_leg: LegBuilder) -> Iterator[Callable[[], Worker]]:
    """Begin to follow the first leg of a run of three items, which is large enough for parts."""
    begun: list[Worker] = []

    def begin() -> Worker:
        plan = replace(new_leg.plan(3), items=1_000)
        leg = new_leg.leg(plan)
        budget = GrantedBudget(leg.budget._budget.bounds, leg.verify.partner, leg.stop, lambda: NOW)
        trail = AuditTrail(leg.journal, budget, new_leg.unattributed)
        heartbeat = WorkerHeartbeat(
            legs=new_leg.legs(plan),
            leg=1,
            journal=leg.journal,
            trail=trail,
            budget=budget,
            stop=leg.stop,
            patience_seconds=1.0,
        )
        messages, aborts = WorkerMessages(leg.results.store, plan.run_id, 1), list[bool]()
        process = WorkerProcess(
            leg=replace(leg, budget=budget, trail=trail, heartbeat=heartbeat),
            budget=budget,
            messages=messages,
            identity=own_claim(heartbeat.legs.now(), {}),
            abort=lambda: aborts.append(True),
            drain_seconds=5.0,
        )
        heartbeat.exchange = process.exchange
        begun.append(Worker(process, messages, threading.Thread(target=process.follow, daemon=True), aborts))
        begun[-1].order(1)
        begun[-1].thread.start()
        return begun[-1]

    yield begin
    for worker in begun:
        worker.end()


@pytest.fixture
def worker(new_worker: Callable[[], Worker]) -> Worker:
    """A process that may make any number of calls."""
    return new_worker()


def test_a_slice_is_durable_when_its_task_ends(worker: Worker) -> None:
    """A task that has ended is not done again, even if its process is killed at once."""
    assert worker.process.verify(ALL) == 3

    assert rows_of(worker.leg.results, worker.leg.plan) == [0, 1, 2]
    assert len(journal_rows(worker.leg.results, worker.leg.plan, 1, "exchanges")) == 9


def test_a_report_counts_what_was_done(worker: Worker) -> None:
    """Rows, bytes and calls."""
    worker.process.verify(ALL)
    worker.process.exchange()

    assert (worker.report.rows, worker.report.calls, worker.report.is_busy) == ({"accepted": 3}, 6, False)


def test_a_slice_that_a_lost_process_had_begun_is_finished(worker: Worker, service: ScriptedService) -> None:
    """What it wrote down is not verified again, and is in the part."""
    begin_slice(worker.leg, ALL)
    write_journal(worker.leg.results, worker.leg.plan, 1, [1])
    worker.leg.journal.writer = "another"
    worker.messages.write_orders(Orders(number=2, granted={"another": None}))

    assert worker.process.verify(ALL) == 2

    assert service.calls.count(Call.VERIFY) == 2
    assert rows_of(worker.leg.results, worker.leg.plan) == [0, 1, 2]


def test_a_shard_that_another_process_published_meanwhile_is_done(worker: Worker, service: ScriptedService) -> None:
    """That process was taken for lost, and was not: its part stands."""
    leg, others = worker.leg, threading.Event()

    def publish(call: Call) -> None:
        if call is Call.VERIFY and not others.is_set():
            others.set()
            write_part(leg.results, leg.plan, 1, 0, [0, 1, 2])

    service.on_call = publish

    assert worker.process.verify(ALL) == 0
    assert rows_of(leg.results, leg.plan) == [0, 1, 2]


def test_the_leg_stops_for_a_reason_of_this_process(worker: Worker) -> None:
    """The task raises it, and the report says it: one of both arrives."""
    worker.leg.stop.pull(RunMustStop("The key was refused.", ended_by="key_refused"))

    with pytest.raises(RunMustStop, match="refused"):
        worker.process.verify(ALL)
    worker.process.exchange()

    assert worker.report.stop is not None
    assert worker.report.stop.ended_by == "key_refused"


def test_an_order_to_stop_is_obeyed(worker: Worker, service: ScriptedService) -> None:
    """It is not this process's reason, and the task just ends."""
    worker.order(2, stop=RunMustStop("Asked to stop.", ended_by="cancelled"), is_aborted=True)
    worker.process.exchange()

    assert worker.process.verify(ALL) == 0
    assert service.calls == []
    worker.process.exchange()
    assert worker.report.stop is None
    assert worker.aborts != []


def test_rows_in_doubt_remain_at_the_end(worker: Worker, service: ScriptedService) -> None:
    """No control has shown yet that the service works; the next leg tries them again."""
    service.usual[Call.VERIFY] = Scripted(status=422)
    worker.process.verify(Slice(0, 0, 1))

    worker.end()

    assert journal_rows(worker.leg.results, worker.leg.plan, 1) == []
    assert worker.leg.control.put_aside == {0}
    assert worker.report.is_closed


def test_a_leg_without_orders_is_over(worker: Worker) -> None:
    """Its process has settled it."""
    worker.messages.delete()
    worker.process.exchange()

    worker.thread.join(10)

    assert not worker.thread.is_alive()
    assert worker.leg.stop.reason is not None


def test_a_leg_whose_process_is_silent_is_left(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is dead, or nobody can hear it; another one may take the leg over."""
    monkeypatch.setattr("proofsweep.usecases.leg.worker_process._SILENT_SECONDS", -1.0)
    object.__setattr__(worker.leg.heartbeat, "patience_seconds", -1.0)
    worker.process.exchange()

    worker.thread.join(10)

    assert not worker.thread.is_alive()
    assert worker.leg.stop.reason is not None
    assert "not been heard" in worker.leg.stop.reason.message


def test_exchanges_that_come_after_the_receipt_are_published(worker: Worker) -> None:
    """The process was taken for lost, and its leg settled without it; no request ID is lost."""
    leg = worker.leg
    leg.trail.of_row(1)(exchange())
    leg.heartbeat.legs.write_receipt(1, {"parts": []})

    worker.end()

    assert rows_of(leg.results, leg.plan, "exchanges") == [1]
    assert leg.results.store.names("_runs/20261120T120000Z_000aa/journal/001") == []
