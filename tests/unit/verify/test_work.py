"""A slice's items are verified on the worker threads; what finishes is in the journal, and a whole shard in a part."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import WorkItem
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.domain.runs import Bounds, Slice
from proofsweep.store.parts import Results
from proofsweep.verify import worker
from proofsweep.verify.session import LegContext
from proofsweep.verify.worker import verify_slice, work_item

from ..conftest import LegBuilder
from ..left_behind import BreakingStore, exchange, journal_rows, rows_of
from ..scripted_service import Scripted, ScriptedService

NO_ANSWER = Scripted(document={"good": "perhaps"})
THREE_CALLS = [Call.UPLOADS, Call.SLOT, Call.VERIFY]
LAST_SHARD = Slice(1, 0, 2)
"""Of a run that is too large for a task for each item: its second shard, of two rows."""


class WaitingSwitch(StopSwitch):
    """A switch that tells a test of each rest, and lets no time pass."""

    def __init__(self, on_rest: Callable[[], object]) -> None:
        super().__init__()
        self.on_rest = on_rest

    def rest(self, seconds: float) -> None:
        del seconds
        self.on_rest()
        self.check()


@pytest.fixture
def leg(new_leg: LegBuilder) -> LegContext:
    return new_leg.leg(new_leg.plan(3))


@pytest.fixture
def large_leg(new_leg: LegBuilder) -> LegContext:
    return new_leg.leg(new_leg.plan(202, shard_items=200))


def item_of(leg: LegContext, number: int = 0) -> WorkItem:
    return next(leg.remaining.items(Slice(0, number, number + 1)))


def written(leg: LegContext) -> list[int | None]:
    leg.journal.flush()
    return journal_rows(leg.results, leg.plan, leg.leg)


def test_an_item_ends_as_a_row_in_the_journal(leg: LegContext, service: ScriptedService) -> None:
    """Its exchanges are there too, under its row, and it is counted for the display."""
    row = work_item(leg, item_of(leg, 1))

    assert row is not None
    assert (row["manifest_row"], row["outcome"], row["leg"]) == (1, "accepted", 1)
    assert written(leg) == [1]
    assert journal_rows(leg.results, leg.plan, 1, "exchanges") == [1, 1, 1]
    assert service.calls == THREE_CALLS
    assert leg.counters.rows == {"accepted": 1}


def test_a_row_that_costs_no_call_needs_no_budget(new_leg: LegBuilder, service: ScriptedService) -> None:
    """It was judged by its listing when the run was planned."""
    leg = new_leg.leg(new_leg.plan(1), bounds=Bounds(max_calls=1))
    item = replace(item_of(leg), ineligible=Ineligible(Reason.EMPTY, "No bytes."))

    row = work_item(leg, item)

    assert row is not None
    assert (row["outcome"], row["reason"]) == ("ineligible", "empty")
    assert service.calls == []


def test_an_item_that_the_stop_meets_leaves_its_exchanges(leg: LegContext, service: ScriptedService) -> None:
    """It has no row and is not counted; what was sent for it is in the audit trail."""
    service.script[Call.UPLOADS] = [Scripted(status=503)]
    service.on_call = lambda _call: leg.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))

    assert work_item(leg, item_of(leg)) is None
    assert written(leg) == []
    assert journal_rows(leg.results, leg.plan, 1, "exchanges") == [0]
    assert leg.counters.rows == {}


def test_rows_that_were_in_doubt_before_come_last(large_leg: LegContext) -> None:
    """They are no part of a slice's work, and the shard has no part without them."""
    leg = replace(large_leg, in_doubt_before=frozenset({201}))

    assert verify_slice(leg, LAST_SHARD) == 1
    assert written(leg) == [200]
    assert rows_of(leg.results, leg.plan) == []
    assert verify_slice(replace(large_leg, in_doubt_before=frozenset({0})), LAST_SHARD) == 2
    assert rows_of(leg.results, leg.plan) == [200, 201]


def test_a_long_shard_is_worked_in_portions(
    new_leg: LegBuilder, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows of all portions are in the part, each once; one that remains in any portion keeps the part back."""
    monkeypatch.setattr(worker, "_ITEMS_AT_ONCE", 3)
    leg = new_leg.leg(new_leg.plan(210, shard_items=200))

    assert verify_slice(leg, Slice(1, 0, 10)) == 10
    assert rows_of(leg.results, leg.plan) == list(range(200, 210))

    service.script[Call.VERIFY] = [NO_ANSWER]  # one row of the first portion is in doubt

    assert verify_slice(leg, Slice(0, 0, 10)) == 9
    assert rows_of(leg.results, leg.plan) == list(range(200, 210))


def test_a_store_that_fails_leaves_the_shard_to_the_legs_end(large_leg: LegContext, tmp_path: Path) -> None:
    """The rows are in the journal: the leg goes on."""
    leg = replace(large_leg, results=Results(BreakingStore(tmp_path / "results", writes_left=0)))

    assert verify_slice(leg, LAST_SHARD) == 2
    assert rows_of(large_leg.results, large_leg.plan) == []
    assert len(written(leg)) == 2


def test_a_mistake_of_ours_ends_the_leg_and_is_raised(large_leg: LegContext, service: ScriptedService) -> None:
    """Nothing is published, and no other item begins."""

    def fail(call: Call) -> None:
        if call is Call.VERIFY:
            raise ZeroDivisionError

    service.on_call = fail

    with pytest.raises(ZeroDivisionError):
        verify_slice(large_leg, LAST_SHARD)

    assert large_leg.stop.reason is not None
    assert large_leg.stop.reason.ended_by == "error"
    assert rows_of(large_leg.results, large_leg.plan) == []


def failing_leg(leg: LegContext, store: BreakingStore, on_rest: Callable[[], object]) -> LegContext:
    """Let the store fail under a leg's heartbeat, which has something to write."""
    store.writes_left = 0
    leg.journal.results = Results(store)
    leg.trail.note(None, exchange(Call.USAGE))
    ended = threading.Event()
    ended.set()
    leg.heartbeat.stop = WaitingSwitch(lambda: None)
    leg.heartbeat.stop.pull(RunMustStop("Do not wait for the store.", ended_by="cancelled"))
    leg.heartbeat.keep(ended)
    return replace(leg, stop=WaitingSwitch(on_rest))


def test_nothing_begins_while_the_store_fails(leg: LegContext, service: ScriptedService, tmp_path: Path) -> None:
    """What could not be written down is not asked; the item begins when the store is well again."""
    store, calls_then = BreakingStore(tmp_path / "results"), []

    def mend() -> None:
        calls_then.append(list(service.calls))
        store.writes_left = None
        leg.heartbeat.write()

    row = work_item(failing_leg(leg, store, mend), item_of(leg))

    assert row is not None
    assert calls_then == [[]]
    assert service.calls == THREE_CALLS
