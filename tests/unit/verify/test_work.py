"""What remains is verified batch by batch on the worker threads; what fails is tried again last, or ends the leg."""

import errno
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from proofsweep.config.threads import StopSwitch
from proofsweep.domain.errors import ConfigError, ResultsError, RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row, WorkItem
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.domain.runs import Bounds, Plan
from proofsweep.store.journal import CompletedRows
from proofsweep.store.latest import Latest
from proofsweep.store.parts import Results
from proofsweep.verify import attribution, worker
from proofsweep.verify.duplicates import DuplicateCache
from proofsweep.verify.leg import Leg
from proofsweep.verify.worker import verify_batch, work_item, work_last

from ..conftest import WAV, LegBuilder
from ..left_behind import journal_rows, verdict
from ..scripted_service import Scripted, ScriptedService

THREE_CALLS = [Call.UPLOADS, Call.SLOT, Call.VERIFY]


@pytest.fixture
def leg(new_leg: LegBuilder) -> Leg:
    return new_leg.leg(new_leg.plan(3))


def item_of(leg: Leg, number: int = 0) -> WorkItem:
    return next(leg.completed.items(range(number, number + 1)))


def written(leg: Leg) -> list[int]:
    leg.trail.journal.flush()
    return sorted(row for row in journal_rows(leg.results, leg.plan, leg.number) if row is not None)


def test_a_row_that_costs_no_call_needs_no_budget(new_leg: LegBuilder, service: ScriptedService) -> None:
    """It was judged by its listing when the run was planned."""
    leg = new_leg.leg(new_leg.plan(1), bounds=Bounds(max_calls=1))
    item = replace(item_of(leg), ineligible=Ineligible(Reason.EMPTY, "No bytes."))

    assert work_item(leg, item)
    assert leg.trail.rows == {"ineligible": 1}
    assert service.calls == []


@pytest.mark.parametrize("call", THREE_CALLS)
@pytest.mark.parametrize("refusal", [Scripted(status=503), Scripted(status=429, retry_after=0.3)])
def test_an_item_that_the_stop_meets_is_finished_with_its_retries(
    leg: Leg, service: ScriptedService, call: Call, refusal: Scripted
) -> None:
    """Its calls are paid: a retry is part of it. No other item begins."""
    service.script[call] = [refusal]
    service.on_call = lambda _call: leg.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))

    assert work_item(leg, item_of(leg))
    assert not work_item(leg, item_of(leg, 1))
    assert written(leg) == [0]


def test_an_item_in_hand_does_not_wait_for_longer_than_the_stop_leaves_it(leg: Leg, service: ScriptedService) -> None:
    """It has no row and is not counted; what was sent for it is in the audit trail."""
    service.script[Call.UPLOADS] = [Scripted(status=429, retry_after=13.0)]
    service.on_call = lambda _call: leg.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))

    assert not work_item(leg, item_of(leg))
    assert written(leg) == []
    assert journal_rows(leg.results, leg.plan, 1, "exchanges") == [0]
    assert leg.trail.rows == {}


def test_nothing_begins_while_answers_come_faster_than_the_store_takes_them(
    leg: Leg, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else long answers would fill the memory; once the journal is written, the leg goes on."""
    begun: list[int] = []

    def rest(_seconds: float) -> None:
        begun.append(len(service.calls))
        leg.trail.journal.flush()

    monkeypatch.setattr(leg.stop, "rest", rest)
    leg.trail.journal.add(verdict(leg.plan, 1, 1, interpretation_json="x" * (32 * 1024 * 1024)), [])

    assert work_item(leg, item_of(leg))
    assert begun == [0]
    assert written(leg) == [0, 1]


@pytest.mark.parametrize(("outage_seconds", "finished"), [(10.0, 3), (0.0, 0)])
def test_a_shortage_of_this_machine_is_waited_for_with_the_same_item(
    leg: Leg, monkeypatch: pytest.MonkeyPatch, outage_seconds: float, finished: int
) -> None:
    """Else all files would run through within a moment without handles; the reason of the end names what is short."""
    opened, fails = os.open, count()

    def short(path: str, flags: int, *given: int, **named: int) -> int:
        if str(path).endswith(".wav") and (outage_seconds == 0.0 or next(fails) < 8):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return opened(path, flags, *given, **named)

    monkeypatch.setattr(os, "open", short)
    monkeypatch.setattr(attribution, "_LOOK_AGAIN_SECONDS", 0.01)
    leg.attribution.outage_seconds = outage_seconds

    assert verify_batch(leg) == finished
    if finished == 0:
        assert leg.stop.reason is not None
        assert "Too many open files" in leg.stop.reason.message


def test_a_long_batch_is_worked_in_portions(new_leg: LegBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all portions together, it is said how many rows are finished."""
    monkeypatch.setattr(worker, "_ITEMS_AT_ONCE", 3)
    leg = new_leg.leg(new_leg.plan(210, batch_items=200))

    assert verify_batch(leg, range(200, 210)) == 10

    Path(item_of(leg).audio).unlink()  # one row of the first portion waits for what shows that its root is there

    assert verify_batch(leg, range(10)) == 9


def test_a_mistake_of_ours_ends_the_leg_and_is_raised(new_leg: LegBuilder, service: ScriptedService) -> None:
    """No other item begins. The run is too large for a task for each item; this is its second batch."""
    leg = new_leg.leg(new_leg.plan(202, batch_items=200))

    def fail(call: Call) -> None:
        if call is Call.VERIFY:
            raise ZeroDivisionError

    service.on_call = fail

    with pytest.raises(ZeroDivisionError):
        verify_batch(leg, range(200, 202))

    assert leg.stop.reason is not None
    assert leg.stop.reason.ended_by == "error"


def test_after_a_mistake_of_ours_what_is_in_flight_is_awaited(new_leg: LegBuilder, service: ScriptedService) -> None:
    """The leg is settled after that: else their answers would come too late for its parts."""
    leg = new_leg.leg(new_leg.plan(203, batch_items=200))
    verifies = count(1)

    def fail(call: Call) -> None:
        if call is Call.VERIFY and next(verifies) == 1:
            raise ZeroDivisionError
        time.sleep(0.1)

    service.on_call = fail

    with pytest.raises(ZeroDivisionError):
        verify_batch(leg, range(200, 203))

    finished = written(leg)
    begun = set(journal_rows(leg.results, leg.plan, leg.number, "exchanges"))
    assert len(finished) == len(begun) - 1


def test_no_item_is_read_after_the_stop(
    new_leg: LegBuilder, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many remain: the time that a stop takes does not hang on them."""
    monkeypatch.setattr(worker, "_ITEMS_AT_ONCE", 3)
    leg, read = new_leg.leg(new_leg.plan(210, batch_items=200)), list[int]()
    items = leg.completed.items
    monkeypatch.setattr(
        leg.completed,
        "items",
        lambda rows=None: (read.append(item.manifest_row) or item for item in items(rows)),
    )
    service.on_call = lambda _call: leg.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))

    finished = verify_batch(leg, range(200))
    verify_batch(leg, range(200, 210))
    work_last(leg)

    assert 0 < finished <= len(read) <= 6


def test_a_full_disk_ends_the_leg_as_an_outage(leg: Leg, service: ScriptedService) -> None:
    """It is no mistake of this program: once there is room, the run goes on."""

    def fail(_call: Call) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    service.on_call = fail

    with pytest.raises(OSError, match="No space left"):
        work_item(leg, item_of(leg))

    assert leg.stop.reason is not None
    assert leg.stop.reason.ended_by == "breaker"
    assert leg.stop.reason.message.startswith("No space left on device: free some")


def test_the_last_round_asks_the_service_for_each_file(leg: Leg, service: ScriptedService, stop: StopSwitch) -> None:
    """The answer for other bytes that are the same may have been given in an outage."""
    leg.verify = replace(leg.verify, duplicates=DuplicateCache(stop))
    for row in range(3):
        Path(next(leg.completed.items(range(row, row + 1))).audio).write_bytes(WAV + bytes(8))

    work_last(leg)

    assert sorted(service.calls) == sorted(THREE_CALLS * 3)


def let_reads_fail(monkeypatch: pytest.MonkeyPatch, times: int, after: int = 0) -> None:
    """Let the store fail so often while planned items are read, each time after so many items."""
    items, left = Results.items, [times]

    def fail_at_times(results: Results, plan: Plan, rows: range | None = None) -> Iterator[WorkItem]:
        is_away, left[0] = left[0] > 0, left[0] - 1
        for number, item in enumerate(items(results, plan, rows)):
            if is_away and number >= after:
                raise ResultsError("The store is away.")
            yield item

    monkeypatch.setattr(Results, "items", fail_at_times)
    monkeypatch.setattr(attribution, "_LOOK_AGAIN_SECONDS", 0.01)


def test_a_store_that_is_away_while_items_are_read_loses_no_answer(
    new_leg: LegBuilder, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was begun is awaited and written down; what could not be read is read again at the end of the leg."""
    monkeypatch.setattr(worker, "_ITEMS_AT_ONCE", 3)
    leg = new_leg.leg(new_leg.plan(210, batch_items=200))
    service.on_call = lambda call: time.sleep(0.02) if call is Call.VERIFY else None
    service.script[Call.VERIFY] = [Scripted(document={"good": False, "verdict": "tampered"})]
    let_reads_fail(monkeypatch, times=2, after=4)

    verify_batch(leg, range(200, 210))
    at_once = written(leg)
    work_last(leg)

    assert at_once == [200, 201, 202]
    assert (written(leg), leg.stop.reason) == (list(range(210)), None)
    assert service.calls.count(Call.VERIFY) == 210


def test_a_store_that_fails_once_lets_no_file_be_paid_again(
    leg: Leg, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What may be unchanged waits until its earlier answers can be read."""
    reads: list[int] = []

    def fail_once(latest: Latest, environment: str, item_ids: Iterable[str]) -> dict[str, Row]:
        del latest, environment, item_ids
        reads.append(len(service.calls))
        if len(reads) == 1:
            raise ResultsError("The store is away.")
        return {}

    items = [replace(item, is_touched=True) for item in leg.completed.items()]
    monkeypatch.setattr(CompletedRows, "items", lambda *_: iter(items))
    monkeypatch.setattr(Latest, "whole_answers", fail_once)
    monkeypatch.setattr(attribution, "_LOOK_AGAIN_SECONDS", 0.01)

    verify_batch(leg)

    assert reads == [0, 0]


def test_a_proxy_that_cannot_be_used_ends_the_leg_as_an_outage(leg: Leg, service: ScriptedService) -> None:
    """It may be one for the slots' host alone, which nobody knows before the first slot."""

    def fail(call: Call) -> None:
        if call is Call.SLOT:
            raise ConfigError("The proxy in https_proxy cannot be used.")

    service.on_call = fail

    assert not work_item(leg, item_of(leg))
    assert leg.stop.reason is not None
    assert (leg.stop.reason.ended_by, leg.stop.reason.message) == (
        "breaker",
        "The proxy in https_proxy cannot be used.",
    )
