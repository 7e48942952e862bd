"""A leg ends as parts, a receipt and a row in `runs`; if that breaks off anywhere, the next process does it."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from proofsweep.config.threads import background_thread
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError, RunIsActive
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Plan
from proofsweep.store import layout
from proofsweep.store.journal import Journal
from proofsweep.store.latest import Latest
from proofsweep.store.legs import HeldLeg
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.store.rows import exchange_row
from proofsweep.verify.attempt import recover_last_legs
from proofsweep.verify.commit import PART_BYTES, LegParts, commit_leg, count_leg
from proofsweep.verify.resume import unfinished_runs

from ...worlds import ended_runs
from ...worlds.core import begin_leg
from ...worlds.waiting import wait_for
from ..conftest import LegBuilder
from ..left_behind import (
    BreakingStore,
    exchange,
    journal_rows,
    let_holder_die,
    rows_of,
    verdict,
    write_journal,
    write_part,
)
from ..scripted_service import NOW

WRITES = 7
"""Of the killed leg below: its two closing parts, the receipt, the row in `runs`, two deletions, its end in the log."""
Told = tuple[int | None, str, int | None]
SAMPLE = ended_runs.plan_of_run("20261120T120000Z_000aa", items=10)


@pytest.fixture
def plan(new_leg: LegBuilder) -> Plan:
    """A run of five items, whose first leg has begun."""
    return new_leg.plan(5, batch_items=2)


@pytest.fixture(autouse=True)
def held(new_leg: LegBuilder, plan: Plan) -> HeldLeg:
    return new_leg.legs(plan).begin({})


def settled(results: Results, plan: Plan, ended_by: EndedBy) -> Row:
    """Settle the first leg, as a process that finds it."""
    return commit_leg(LegParts.found(results, plan, 1), ended_by, {})


def parts_of(results: Results, plan: Plan, table: str = "verdicts") -> list[tuple[int, bool]]:
    """Of each part: how many rows it has, and whether it is the closing one."""
    found = [results.marked_part(name) for name in results.parts_of(table, plan)]
    return [(part.rows, mark.is_closing) for part, mark in found]


def test_what_is_in_the_journal_alone_becomes_the_closing_parts(results: Results, plan: Plan) -> None:
    """Sorted, and each row once: two worker processes of a leg may have finished it."""
    write_part(results, plan, 1, 0, [4, 1])
    write_journal(results, plan, 1, [3, 0])
    write_journal(results, plan, 1, [0], "another")

    row = settled(results, plan, EndedBy.COMPLETE)

    assert rows_of(results, plan) == [4, 1, 0, 3]
    assert parts_of(results, plan) == [(2, False), (2, True)]
    assert parts_of(results, plan, "exchanges") == [(3, True)]
    assert (row["accepted"], row["remaining"], row["calls"], row["calls_unrecorded"]) == (4, 1, 3, 0)
    assert results.store.names(layout.journal_folder(plan.run_id, 1)) == []


def test_a_leg_publishes_while_it_works(results: Results, plan: Plan) -> None:
    """What a part has goes from the journal; an empty journal gives no part but the closing one."""
    journal = Journal(results, plan.run_id, 1, "w")
    parts = LegParts(results, plan, 1, journal)
    for row in (2, 0, 1):
        trail = exchange_row(exchange(), run_id=plan.run_id, leg=1, manifest_row=row, environment=plan.environment)
        journal.add(verdict(plan, 1, row), [trail])
        journal.flush()
        if row != 0:
            parts.publish()
            parts.publish()
    assert results.store.names(layout.journal_folder(plan.run_id, 1)) == []

    commit_leg(parts, EndedBy.COMPLETE, {})

    assert rows_of(results, plan) == rows_of(results, plan, "exchanges") == [2, 0, 1]
    assert parts_of(results, plan) == parts_of(results, plan, "exchanges") == [(1, False), (2, False), (0, True)]


def test_so_many_bytes_are_published_beside_the_work(
    results: Results, plan: Plan, held: HeldLeg, new_leg: LegBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few long answers are as large as many short ones."""
    monkeypatch.setattr("proofsweep.verify.commit.FLUSH_SECONDS", 0.01)
    leg = new_leg.leg(plan, held)
    said = "x" * (PART_BYTES // 2)

    with background_thread("commit", partial(leg.parts.publish_as_it_grows, leg.stop)):
        for row in (0, 1):
            leg.trail.journal.add(verdict(plan, 1, row, interpretation_json=said), [])
        leg.trail.journal.flush()
        wait_for(lambda: rows_of(results, plan))

    assert rows_of(results, plan) == [0, 1]


@pytest.mark.parametrize("is_closed", [False, True])
def test_so_many_rows_are_published_beside_the_work(
    results: Results,
    plan: Plan,
    held: HeldLeg,
    new_leg: LegBuilder,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_closed: bool,
) -> None:
    """A process that was frozen finds its leg closed, and stops."""
    monkeypatch.setattr("proofsweep.verify.commit.ROWS_PER_PART", 2)
    monkeypatch.setattr("proofsweep.verify.commit.FLUSH_SECONDS", 0.01)
    leg = new_leg.leg(plan, held)
    write_journal(results, plan, 1, [0], "another")
    if is_closed:
        settled(results, plan, EndedBy.KILLED)

    with background_thread("commit", partial(leg.parts.publish_as_it_grows, leg.stop)):
        for row in (1, 2):
            leg.trail.journal.add(verdict(plan, 1, row), [])
            leg.trail.journal.flush()
        wait_for(lambda: leg.stop.reason if is_closed else rows_of(results, plan))

    assert rows_of(results, plan) == ([0] if is_closed else [1, 2])
    assert (leg.stop.reason is not None) is is_closed


def journal_long_answers(results: Results, plan: Plan, numbers: range, writer: str = "w") -> None:
    """Write rows down, each with an answer that alone fills a third of a part."""
    journal = Journal(results, plan.run_id, 1, writer)
    for number in numbers:
        said = "x" * (PART_BYTES // 3)
        journal.add(verdict(plan, 1, number, interpretation_json=said), [])
    journal.flush()


class HidingStore(FolderStore):
    """A bucket whose listings do not show a journal yet."""

    def names(self, folder: str) -> list[str]:
        return [] if "/journal/" in folder else super().names(folder)


def test_what_no_listing_shows_of_a_dead_leg_is_published(results: Results, plan: Plan, held: HeldLeg) -> None:
    """The log says whose journal it is, and its segments are asked for by their numbers."""
    journal = Journal(results, plan.run_id, 1, held.signs.holder.writer)
    for number in range(3):
        journal.add(
            verdict(plan, 1, number),
            [exchange_row(exchange(), run_id=plan.run_id, leg=1, manifest_row=number, environment=plan.environment)],
        )
        journal.flush()
    let_holder_die(results, plan, 1)

    recover_last_legs(Results(HidingStore(Path(results.store.url))), plan, lambda: NOW)

    assert rows_of(results, plan) == rows_of(results, plan, "exchanges") == [0, 1, 2]


def test_long_answers_of_a_dead_leg_are_in_several_parts(results: Results, plan: Plan) -> None:
    """The service may answer each file with 2 MiB: no part takes more memory than others, and the last one closes."""
    journal_long_answers(results, plan, range(5))

    row = settled(results, plan, EndedBy.KILLED)

    assert rows_of(results, plan) == [0, 1, 2, 3, 4]
    assert parts_of(results, plan) == [(3, False), (2, True)]
    assert (row["accepted"], row["remaining"], row["calls_unrecorded"]) == (5, 0, None)


@pytest.mark.parametrize("writes", range(6))
def test_closing_in_several_parts_may_break_off(
    results: Results, plan: Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, writes: int
) -> None:
    """The next process goes on after the last part."""
    monkeypatch.setattr("proofsweep.verify.commit.ROWS_PER_PART", 1)
    for number in range(3):
        write_journal(results, plan, 1, [number], f"w{number}")
    let_holder_die(results, plan, 1)
    with pytest.raises(ResultsError, match="broke off"):
        recover_last_legs(Results(BreakingStore(tmp_path / "results", writes)), plan, lambda: NOW)

    recover_last_legs(results, plan, lambda: NOW)

    assert rows_of(results, plan) == rows_of(results, plan, "exchanges") == [0, 1, 2]
    assert parts_of(results, plan) == parts_of(results, plan, "exchanges") == [(1, False), (1, False), (1, True)]


def test_a_process_that_comes_back_while_its_leg_is_closed(
    results: Results, plan: Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It publishes what the other has not; the other goes on after that, and each row is there once."""
    monkeypatch.setattr("proofsweep.verify.commit.ROWS_PER_PART", 1)
    journal = Journal(results, plan.run_id, 1, "w")
    own = LegParts(results, plan, 1, journal)
    for number in range(4):
        journal.add(verdict(plan, 1, number), [])
        journal.flush()
    other = LegParts(Results(BreakingStore(tmp_path / "results", 1)), plan, 1)
    with pytest.raises(ResultsError, match="broke off"):
        other.close()

    own.publish()
    other.results = results
    other.close()

    assert rows_of(results, plan) == [0, 1, 2, 3]
    assert parts_of(results, plan) == [(1, False)] * 4 + [(0, True)]


class LateStore(FolderStore):
    """A bucket behind a gateway that lets another create of a name through, after the first was read back."""

    late: Callable[[str], object] = staticmethod(lambda _name: None)

    def create(self, name: str, content: bytes) -> None:
        super().create(name, content)
        self.late(name)


@pytest.mark.parametrize("is_own_end", [False, True])
def test_a_part_that_another_process_has_created_too_deletes_no_row(
    results: Results, plan: Plan, tmp_path: Path, *, is_own_end: bool
) -> None:
    """Whose part it is, is decided by what stands there; a row that this one lacks stays in the journal."""
    write_journal(results, plan, 1, [0])
    elsewhere = Results(FolderStore(shutil.copytree(tmp_path / "results", tmp_path / "elsewhere")))
    LegParts.found(elsewhere, plan, 1).close()
    (name,) = elsewhere.parts_of("verdicts", plan, 1)
    store = LateStore(tmp_path / "results")
    late = elsewhere.store.read(name) or b""
    store.late = lambda created: FolderStore.replace(store, name, late) if created == name else None
    journal = Journal(results, plan.run_id, 1, "v")
    journal.add(verdict(plan, 1, 1), [])
    journal.flush()
    own = LegParts(Results(store), plan, 1, journal)

    with pytest.raises(RunIsActive, match="taken over"):
        (own.close if is_own_end else own.publish)()

    assert rows_of(results, plan) == [0]
    assert [part.rows for part in own.parts["verdicts"]] == [1]
    assert 1 in journal_rows(results, plan, 1)


def test_a_row_of_two_processes_is_in_one_part(results: Results, plan: Plan) -> None:
    """Also if the first of them has published it before."""
    journal = Journal(results, plan.run_id, 1, "w")
    journal.add(verdict(plan, 1, 0), [])
    journal.flush()
    LegParts(results, plan, 1, journal).publish()
    write_journal(results, plan, 1, [0, 1], "another")

    settled(results, plan, EndedBy.KILLED)

    assert rows_of(results, plan) == [0, 1]


@pytest.mark.parametrize("writes", range(WRITES))
def test_a_settlement_that_breaks_off_is_done_by_the_next(
    results: Results, plan: Plan, tmp_path: Path, writes: int
) -> None:
    """After any of its writes: every row and exchange stands once, and the leg has one receipt and one row."""
    write_journal(results, plan, 1, [0, 2])
    let_holder_die(results, plan, 1)
    breaking = Results(BreakingStore(tmp_path / "results", writes))
    with pytest.raises(ResultsError, match="broke off"):
        recover_last_legs(breaking, plan, lambda: NOW)

    recover_last_legs(results, plan, lambda: NOW)

    (row,) = results.table("runs", results.parts_of("runs", plan)).to_pylist()
    receipt = results.receipts(plan)[1]
    assert rows_of(results, plan) == rows_of(results, plan, "exchanges") == [0, 2]
    assert parts_of(results, plan) == parts_of(results, plan, "exchanges") == [(2, True)]
    assert (row["ended_by"], row["accepted"], row["calls"], row["remaining"]) == ("killed", 2, 2, 3)
    assert receipt["ended_by"] == "killed"


def test_the_receipt_counts_groups_and_duplicates(results: Results, plan: Plan) -> None:
    """Of rows with one answer there is an example; the next forecast must not take a duplicate's price for a row's."""
    rows = [verdict(plan, 1, 0), verdict(plan, 1, 1, answered_by_row=0)]
    results.create_part(layout.part_name("verdicts", plan.run_id, plan.run_date, 0, 1), "verdicts", rows)

    settled(results, plan, EndedBy.COMPLETE)

    receipt = results.receipts(plan)[1]
    assert receipt["duplicates"] == 1
    (group,) = receipt["groups"]  # type: ignore[misc]  # a document
    assert (group["outcome"], group["rows"], group["example"]) == ("accepted", 2, rows[0]["audio"])


def test_a_run_goes_on_while_a_killed_leg_has_exchanges_to_publish(results: Results) -> None:
    """Though the leg of another partition counts all of its rows, and leaves none."""
    plan = ended_runs.plan_of_run("20261120T130000Z_000bb", items=4, partitions=2)
    results.write_plan(plan)
    begin_leg(results, plan, 1)
    begin_leg(results, plan, 2)
    write_journal(results, plan, 1, [0, 1])
    write_journal(results, plan, 2, [2, 3])
    let_holder_die(results, plan, 2)
    with pytest.raises(ResultsError, match="broke off"):
        LegParts(Results(BreakingStore(Path(results.store.url), 1)), plan, 2).close()

    row = commit_leg(LegParts.found(results, plan, 1), EndedBy.COMPLETE, {})

    assert (row["ended_by"], row["remaining"]) == ("complete", 0)
    assert plan in list(unfinished_runs(results))
    assert [leg.leg for leg in Latest(results).tail if leg.plan == plan] == [1, 2]
    recover_last_legs(results, plan, lambda: NOW)
    assert plan not in list(unfinished_runs(results))
    assert sorted(rows_of(results, plan, "exchanges"), key=str) == [0, 1, 2, 3]


def publish(results: Results, leg: int, *told: Told) -> None:
    """Write a leg's audit trail: row, call, status; each exchange in a part of its own."""
    for seq, (number, call, status) in enumerate(told):
        failure = "connection" if status is None else None
        row = ended_runs.exchange(SAMPLE, number, call, leg=leg, status=status, failure=failure)
        results.create_part(layout.part_name("exchanges", SAMPLE.run_id, SAMPLE.run_date, seq, leg), "exchanges", [row])


@pytest.mark.parametrize(
    ("had", "again"),
    [
        ([], 0),
        ([(0, "uploads", 200)], 2),
        ([(0, "uploads", 200), (0, "verify", 200), (1, "uploads", 201)], 4),
        ([(0, "uploads", 503), (0, "uploads", None), (0, "uploads", 429)], 0),
        ([(0, "slot", 204), (None, "usage", 200), (9, "uploads", 200)], 0),
    ],
)
def test_calls_are_made_again_for_what_an_earlier_leg_had_been_answered(
    results: Results, had: list[Told], again: int
) -> None:
    """Tries again of such a call too; not what had failed, what costs no call, or what belongs to no row."""
    publish(results, 1, *had)
    publish(results, 2, (0, "uploads", 500), (0, "uploads", 200), (0, "slot", 204), (0, "verify", 200))
    publish(results, 3, (1, "uploads", 200), (None, "usage", 200))

    legs = [count_leg(LegParts.found(results, SAMPLE, leg))[0] for leg in (1, 2, 3)]

    assert legs[0]["calls_again"] == 0
    assert sum(int(str(leg["calls_again"])) for leg in legs) == again
    assert [leg["calls"] for leg in legs[1:]] == [3, 2]
