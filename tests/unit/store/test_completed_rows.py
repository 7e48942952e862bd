"""What remains of a run is what no part has, and no journal of a leg that is not over."""

from proofsweep.store.journal import CompletedRows
from proofsweep.store.parts import Results

from ..conftest import LegBuilder
from ..left_behind import write_journal, write_part


def left(completed: CompletedRows, rows: range | None = None) -> list[int]:
    return [item.manifest_row for item in completed.items(rows)]


def test_rows_in_parts_of_any_leg_are_left_out(results: Results, new_leg: LegBuilder) -> None:
    """Whichever leg finished them, and in whichever order."""
    plan = new_leg.plan(6, batch_items=3)
    write_part(results, plan, 1, 0, [1])
    write_part(results, plan, 2, 0, [5, 0])

    completed = CompletedRows.load(results, plan)

    assert (left(completed), left(completed, range(3)), left(completed, range(4, 5))) == ([2, 3, 4], [2], [4])
    assert (completed.remaining, completed.before) == (3, 3)


def test_a_journal_counts_until_its_leg_has_a_receipt(results: Results, new_leg: LegBuilder) -> None:
    """What a process that was frozen writes down afterwards is no row of any reader."""
    plan = new_leg.plan(3)
    new_leg.legs(plan).take(1)
    write_journal(results, plan, 1, [0], "w")
    write_journal(results, plan, 1, [2], "another")
    assert left(CompletedRows.load(results, plan)) == [1]

    new_leg.legs(plan).write_receipt(1, {"parts": []})

    assert left(CompletedRows.load(results, plan)) == [0, 1, 2]


def test_what_this_process_finishes_is_known_at_once(results: Results, new_leg: LegBuilder) -> None:
    """And is not forgotten when the store, which lacks it still, is read again."""
    plan = new_leg.plan(205, batch_items=100)
    completed = CompletedRows.load(results, plan)
    for row in range(101, 199):
        completed.add(row)

    write_part(results, plan, 1, 0, [100])
    completed.read()

    assert (completed.remaining, completed.before) == (106, 0)
    assert completed.batches() == [range(100), range(100, 200), range(200, 205)]
    completed.add(199)
    assert completed.batches() == [range(100), range(200, 205)]


def test_each_row_of_a_small_run_is_a_task(results: Results, new_leg: LegBuilder) -> None:
    plan = new_leg.plan(200, batch_items=7)
    write_part(results, plan, 1, 0, [*range(3, 200)])

    assert CompletedRows.load(results, plan).batches() == [range(1), range(1, 2), range(2, 3)]
