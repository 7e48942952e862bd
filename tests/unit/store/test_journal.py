"""Finished work is in the store a moment later, in the order in which it was finished, and none of it is lost."""

import threading
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row
from proofsweep.store import layout
from proofsweep.store.journal import (
    SEGMENT_BYTES,
    CompletedRows,
    Journal,
    read_journal,
    segment_of,
    segments_of_writer,
    unpublished,
)
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Mark, Results
from proofsweep.store.rows import exchange_row

from ...worlds.ended_runs import plan_of_run
from .. import left_behind
from ..conftest import LegBuilder
from ..left_behind import journal_rows, write_journal, write_part

PLAN = plan_of_run("20261120T120000Z_000aa")


def verdict(manifest_row: int) -> Row:
    return left_behind.verdict(PLAN, 1, manifest_row)


def exchange(manifest_row: int) -> Row:
    return exchange_row(
        left_behind.exchange(), run_id=PLAN.run_id, leg=1, manifest_row=manifest_row, environment="beta"
    )


def test_a_row_is_never_there_without_its_exchanges(results: Results) -> None:
    """A process that is killed between two writes leaves exchanges too many, never too few."""
    order = []

    class Watching(FolderStore):
        def create(self, name: str, content: bytes) -> None:
            order.append(Path(name).name.partition("-")[0])
            super().create(name, content)

    journal = Journal(Results(Watching(Path(results.store.url))), "r", 1, "w")
    journal.add(verdict(0), [exchange(0)])
    journal.flush()

    assert order == ["exchanges", "verdicts"]


def test_long_answers_are_cut_into_several_segments(results: Results) -> None:
    """So that a reader of the journal needs as little memory as its writer."""
    journal = Journal(results, PLAN.run_id, 1, "w")
    for number in range(5):
        journal.add(verdict(number) | {"interpretation_json": "x" * (SEGMENT_BYTES // 2 - 1_000)}, [])

    journal.flush()

    tables = unpublished(results, PLAN, 1, "verdicts")
    assert [table["manifest_row"].to_pylist() for table in tables] == [[0, 1], [2], [3, 4]]
    assert journal.waiting("verdicts").rows == 5
    assert max(table.nbytes for table in tables) <= SEGMENT_BYTES


def test_the_millionth_segment_comes_after_those_before_it(results: Results) -> None:
    """Its number has a digit more, so its name sorts before theirs: after eleven days of one flush a second."""
    journal = Journal(results, PLAN.run_id, 1, "w")
    journal.add(verdict(0), [])
    journal.flush()
    folder = layout.journal_folder(PLAN.run_id, 1)
    first = results.store.read(segment_of(folder, "verdicts", "w", 1).name)
    assert first is not None
    late = [segment_of(folder, "verdicts", "w", number) for number in (999_999, 1_000_000)]
    for segment in late:
        results.store.create(segment.name, first)

    numbers = [segment.number for segment, _ in read_journal(results.store, folder, "verdicts")]
    assert numbers == [1, 999_999, 1_000_000]
    assert segments_of_writer(results.store, folder, "verdicts", "w", after=999_999) == late[1:]


def test_no_row_is_lost_or_doubled_under_concurrency(results: Results) -> None:
    journal, over = Journal(results, PLAN.run_id, 1, "w"), threading.Event()

    def add(first: int) -> None:
        for number in range(first, first + 50):
            journal.add(verdict(number), [exchange(number)])

    def flush() -> None:
        while not over.is_set():
            journal.flush()

    flushers = [threading.Thread(target=flush) for _ in range(2)]
    adders = [threading.Thread(target=add, args=(first,)) for first in range(0, 400, 50)]
    for thread in [*flushers, *adders]:
        thread.start()
    for thread in adders:
        thread.join(60.0)
    over.set()
    for thread in flushers:
        thread.join(60.0)
    journal.flush()

    for table in ("verdicts", "exchanges"):
        assert sorted(journal_rows(results, PLAN, 1, table)) == list(range(400))


def test_what_no_part_has_is_told_by_the_last_part(results: Results) -> None:
    """A closing part has decided that there is nothing more."""

    def waiting() -> list[object]:
        tables = unpublished(results, PLAN, 1, "verdicts")
        return [row for table in tables for row in table["manifest_row"].to_pylist()]

    journal = Journal(results, PLAN.run_id, 1, "w")
    for number in range(3):
        journal.add(verdict(number), [])
        journal.flush()
    names = [layout.part_name("verdicts", PLAN.run_id, PLAN.run_date, seq, 1) for seq in range(2)]
    assert waiting() == [0, 1, 2]
    results.create_part(names[0], "verdicts", [verdict(0), verdict(1)], Mark(journal={"w": 2}, is_closing=False))
    assert waiting() == [2]
    results.create_part(names[1], "verdicts", [], Mark(journal={"w": 2}, is_closing=True))

    assert waiting() == []


def left(completed: CompletedRows, rows: range | None = None) -> list[int]:
    return [item.manifest_row for item in completed.items(rows)]


def test_a_journal_counts_until_its_leg_has_a_receipt(results: Results, new_leg: LegBuilder) -> None:
    """What a process that was frozen writes down afterwards is no row of any reader."""
    plan = new_leg.plan(3)
    new_leg.legs(plan).begin({})
    write_journal(results, plan, 1, [0], "w")
    write_journal(results, plan, 1, [2], "another")
    assert left(CompletedRows.load(results, plan)) == [1]

    results.store.create(layout.receipt_name(plan.run_id, 1), b'{"parts": []}')

    assert left(CompletedRows.load(results, plan)) == [0, 1, 2]


def test_what_this_process_finishes_is_known_at_once(results: Results, new_leg: LegBuilder) -> None:
    """And is not forgotten when the store, which lacks it still, is read again; there are parts of any leg."""
    plan = new_leg.plan(205, batch_items=100)
    completed = CompletedRows.load(results, plan)
    for row in range(101, 199):
        completed.add(row)

    write_part(results, plan, 2, 0, [100])
    completed.read()

    assert (completed.remaining, completed.before) == (106, 0)
    assert completed.batches() == [range(100), range(100, 200), range(200, 205)]
    completed.add(199)
    assert completed.batches() == [range(100), range(200, 205)]


def test_what_a_file_server_leaves_among_journals_is_none(results: Results, new_leg: LegBuilder) -> None:
    """Folders of thumbnails, and copies of a segment."""
    plan = new_leg.plan(3)
    new_leg.legs(plan).begin({})
    write_journal(results, plan, 1, [0])
    (folder,) = Path(results.store.url).glob("_runs/*/journal/001")
    (segment,) = folder.glob("verdicts-*")
    segment.with_stem(f"{segment.stem} - Copy").write_bytes(b"")
    (folder.parent / "@eaDir").mkdir()

    assert left(CompletedRows.load(results, plan)) == [1, 2]


def test_a_damaged_segment_is_one_clear_line(results: Results) -> None:
    """A disk may lose the end of a file; the line names it."""
    write_journal(results, PLAN, 1, [0])
    (segment,) = Path(results.store.url).glob("_runs/*/journal/001/verdicts-*")
    segment.write_bytes(segment.read_bytes()[:-40])

    with pytest.raises(ResultsError, match=rf"^_runs/.*/{segment.name} in the results store .* is damaged: [^\n]*$"):
        unpublished(results, PLAN, 1, "verdicts")
