"""Of each item the newest answer is kept, and the newest failure, however the rows are spread."""

import random

import pyarrow as pa
import pytest

from proofsweep.domain.items import Row
from proofsweep.store import schemas
from proofsweep.store import snapshot as module
from proofsweep.store.snapshot import merged, newest_rows, reduced

from ...worlds.ended_runs import answered, plan_of_run

PLAN = plan_of_run("20261120T120000Z_000aa")


def table_of(*rows: Row) -> pa.Table:
    """Make a table of the snapshot."""
    return pa.Table.from_pylist([{name: row.get(name) for name in schemas.SNAPSHOT.names} for row in rows])


def kept(table: pa.Table) -> list[tuple[str, str, int]]:
    """Return item, outcome and row of each kept row."""
    return list(zip(*(table[name].to_pylist() for name in ("item_id", "outcome", "manifest_row")), strict=True))


def test_a_failure_never_hides_an_older_answer() -> None:
    """Both are kept: the newest answer, and the newest attempt that brought none."""
    rows = [answered(PLAN, row, "a", word) for row, word in enumerate(["accepted", "rejected", "failed", "failed"])]

    assert kept(newest_rows(table_of(*rows))) == [("a", "rejected", 1), ("a", "failed", 3)]


def test_environments_do_not_hide_each_other() -> None:
    """What beta said does not count in production."""
    rows = [answered(PLAN, 0, "a", environment="production"), answered(PLAN, 1, "a")]

    assert len(newest_rows(table_of(*rows))) == 2


def test_many_rows_give_the_same_as_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Portions, steps and several rounds of merging change nothing; the outcome is sorted."""
    lots = random.Random(7)  # noqa: S311 - draws rows
    outcomes = ["accepted", "rejected", "failed", "ineligible"]
    rows = [
        answered(PLAN, row % 60, f"é{lots.randrange(150)}", lots.choice(outcomes), leg=row // 60) for row in range(3000)
    ]
    expected = kept(newest_rows(table_of(*rows)))
    monkeypatch.setattr(module, "PORTION_ROWS", 70)
    monkeypatch.setattr(module, "STEP_ROWS", 3)
    monkeypatch.setattr(module, "_MOST_FILES", 3)

    parts = (table_of(*rows[first : first + 100]) for first in range(0, len(rows), 100))
    found = [row for table in reduced(parts) for row in kept(table)]

    assert found == expected
    assert [row[0] for row in found] == sorted(row[0] for row in found)


def test_an_item_that_fills_whole_tables_is_merged() -> None:
    """Its rows are read on until another item comes."""
    one = [table_of(answered(PLAN, 0, "a", environment=f"e{each}")) for each in range(5)]

    (table,) = merged([iter(one), iter([table_of(answered(PLAN, 9, "a", environment="e2"))])])

    assert table["manifest_row"].to_pylist() == [0, 0, 9, 0, 0]


def test_nothing_gives_nothing() -> None:
    """A leg may have finished no row."""
    assert list(reduced([])) == list(reduced([schemas.SNAPSHOT.empty_table()])) == []
