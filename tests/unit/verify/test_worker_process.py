"""A worker process verifies the slices that it is granted, and reports what became of them."""

import random
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import Bounds
from proofsweep.store import layout
from proofsweep.verify.audit_trail import AuditTrail
from proofsweep.verify.session import Heartbeat, LegContext
from proofsweep.verify.worker_process import GrantedBudget, GrantedSlice, SliceQueue, SliceResult, WorkerProcess

from ..conftest import LegBuilder
from ..left_behind import exchange, journal_rows, rows_of, write_journal
from ..scripted_service import NOW, ScriptedService

ALL = GrantedSlice(rows=range(3), calls=9)
AGAIN = replace(ALL, attempt=1)
LOST = SliceResult(is_lost=True)
BATCHES = [range(first, first + 100) for first in (0, 100, 200)]


@dataclass
class Link:
    """A cluster in which the test ends the leg."""

    over: threading.Event = field(default_factory=threading.Event)
    told: list[dict[str, object]] = field(default_factory=list)

    def is_over(self, counts: dict[str, object], seconds: float) -> bool:
        self.told.append(counts)
        return self.over.wait(seconds)

    @property
    def rows(self) -> Counter[str]:
        return sum((Counter(each["rows"]) for each in self.told), Counter())  # type: ignore[call-overload]


@dataclass
class Worker:
    """A worker process that follows a leg of one batch."""

    process: WorkerProcess
    link: Link
    thread: threading.Thread

    @property
    def leg(self) -> LegContext:
        return self.process.leg

    def end(self) -> None:
        self.link.over.set()
        self.thread.join(10)
        assert not self.thread.is_alive()


@pytest.fixture
def worker(new_leg: LegBuilder) -> Iterator[Worker]:
    """A process that follows the first leg of a run of three items, which is large enough for parts."""
    plan = replace(new_leg.plan(3), items=1_000)
    leg = new_leg.leg(plan)
    budget = GrantedBudget(Bounds(max_calls=1), leg.verify.partner, leg.stop, lambda: NOW)
    trail = AuditTrail(leg.journal, budget, new_leg.unattributed, leg.completed)
    heartbeat = Heartbeat(
        legs=new_leg.legs(plan),
        leg=1,
        journal=leg.journal,
        trail=trail,
        budget=budget,
        stop=leg.stop,
        store_outage_seconds=1.0,
        is_holder=False,
    )
    link = Link()
    process = WorkerProcess(
        leg=replace(leg, budget=budget, trail=trail, heartbeat=heartbeat),
        budget=budget,
        is_over=link.is_over,
        abort=lambda: None,
        drain_seconds=0.3,
    )
    begun = Worker(process, link, threading.Thread(target=process.follow, daemon=True))
    begun.thread.start()
    yield begun
    begun.end()


def begin(leg: LegContext, granted: GrantedSlice) -> None:
    name = layout.begun_name(leg.plan.run_id, leg.leg, granted.rows.start, granted.attempt)
    leg.results.store.create(name, b"another")


def test_a_slice_is_durable_when_its_task_ends(worker: Worker) -> None:
    """A task that has ended is not done again, even if its process is killed at once."""
    result = worker.process.verify(ALL)

    assert result == SliceResult(is_done=True, calls=6)
    assert worker.link.rows == {"accepted": 3}
    assert sorted(journal_rows(worker.leg.results, worker.leg.plan, 1)) == [0, 1, 2]
    assert len(journal_rows(worker.leg.results, worker.leg.plan, 1, "exchanges")) == 9


def test_a_slice_without_enough_calls_comes_back(worker: Worker) -> None:
    """The calls of the next attempt are for the rest."""
    first = worker.process.verify(replace(ALL, calls=4))
    second = worker.process.verify(replace(AGAIN, calls=2))

    assert (first.is_done, first.calls) == (False, 4)
    assert (second.is_done, second.calls) == (True, 2)
    assert sorted(journal_rows(worker.leg.results, worker.leg.plan, 1)) == [0, 1, 2]


def test_a_task_that_runs_again_makes_no_call(worker: Worker, service: ScriptedService) -> None:
    """The calls that it brings may have been made by the process that was lost."""
    begin(worker.leg, ALL)

    result = worker.process.verify(ALL)

    assert (result, service.calls) == (SliceResult(is_lost=True), [])


def test_a_slice_that_a_lost_process_had_begun_is_finished(worker: Worker, service: ScriptedService) -> None:
    """What it wrote down is not verified again; all is published when the leg is settled."""
    begin(worker.leg, ALL)
    write_journal(worker.leg.results, worker.leg.plan, 1, [1], "another")

    assert worker.process.verify(AGAIN).is_done
    assert service.calls.count(Call.VERIFY) == 2
    assert sorted(journal_rows(worker.leg.results, worker.leg.plan, 1)) == [0, 1, 2]
    assert rows_of(worker.leg.results, worker.leg.plan) == []


def work(budget: GrantedBudget, rows: range) -> int:
    """Begin as many of these items as may begin; return their number. Each makes its two calls."""
    begun = 0
    for row in rows:
        if budget.admits(row):
            begun += 1
            for call in (Call.UPLOADS, Call.VERIFY):
                budget.note(exchange(call), row)
            budget.release(row)
    return begun


def test_as_many_items_begin_as_calls_are_granted(worker: Worker) -> None:
    """Five calls are enough for two files; what is left goes with the slice."""
    budget = worker.process.budget
    budget.count_slice(granted=-5)

    assert work(budget, range(4)) == 2
    assert budget.refused == 2
    assert budget.hand_back(5) == 4
    assert not budget.admits(9)


def test_calls_are_counted_once(worker: Worker) -> None:
    """Two slices of one process share its calls; together they say what was made, and leave none."""
    budget = worker.process.budget
    budget.count_slice(granted=-4)
    budget.count_slice(granted=-8)
    work(budget, range(3))

    assert budget.hand_back(4) == 6
    work(budget, range(3, 6))
    assert budget.hand_back(8) == 2
    assert work(budget, range(6, 9)) == 0


def queue_of(new_leg: LegBuilder, max_calls: int | None = None) -> SliceQueue:
    return SliceQueue(new_leg.leg(new_leg.plan(1), bounds=Bounds(max_calls=max_calls)), BATCHES)


def given(queue: SliceQueue, slots: int) -> list[GrantedSlice]:
    return list(iter(lambda: queue.grant(slots), None))


def test_without_a_bound_each_slice_has_all_that_it_may_need(new_leg: LegBuilder) -> None:
    """Each slice once."""
    queue = queue_of(new_leg)

    assert given(queue, 4) == [GrantedSlice(rows=rows, calls=300) for rows in BATCHES]


def test_a_lost_attempt_has_spent_all_its_calls(new_leg: LegBuilder) -> None:
    """Nobody knows how many it made; then the leg has none left, and ends."""
    queue = queue_of(new_leg, max_calls=101)
    granted = queue.grant(1)
    assert granted is not None

    queue.take(granted, LOST)

    assert queue.grant(1) is None
    assert queue._leg.stop.reason is not None
    assert queue._leg.stop.reason.ended_by == "window"


def test_a_slice_that_is_lost_again_and_again_ends_the_leg(new_leg: LegBuilder) -> None:
    """It would take every process with it."""
    queue = SliceQueue(new_leg.leg(new_leg.plan(1)), BATCHES[:1])
    for _ in range(4):
        granted = queue.grant(1)
        assert granted is not None
        queue.take(granted, LOST)

    with pytest.raises(RunMustStop, match="4 worker processes that worked on rows 0 to 100 were lost"):
        queue._leg.stop.check()


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_the_calls_stay_within_the_bound(new_leg: LegBuilder, seed: int) -> None:
    """Slices end, come back and are lost in any order; lost ones may have made all their calls."""
    chance, made, running = random.Random(seed), 0, list[GrantedSlice]()  # noqa: S311 - drawn cases, not secrets
    queue = queue_of(new_leg, max_calls=chance.randrange(3, 900))
    bounds = queue._leg.budget._budget.bounds
    while True:
        running += given(queue, chance.randrange(1, 9))
        if not running:
            break
        granted = running.pop(chance.randrange(len(running)))
        assert granted.calls is not None
        is_lost = chance.random() < 0.2
        calls = chance.randrange(granted.calls + 1)
        made += granted.calls if is_lost else calls
        is_done = not is_lost and chance.random() < 0.5
        queue.take(granted, SliceResult(is_done=is_done, is_lost=is_lost, calls=0 if is_lost else calls))

    assert bounds.max_calls is not None
    assert made <= bounds.max_calls
    assert queue._leg.stop.reason is not None or not queue._waiting
