"""The rows of a leg are read once, and counted on the way."""

from pathlib import Path

from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results
from proofsweep.verify.leg.note_leg import LegRows, groups_of

from ...ended_runs import answered, end_leg, plan_of_run

PLAN = plan_of_run("20261120T120000Z_000aa", items=3)


def test_rows_are_grouped_by_leg(tmp_path: Path) -> None:
    """Each group has its rows and one location; other legs are not read."""
    results = Results(FolderStore(tmp_path))
    end_leg(results, PLAN, [answered(PLAN, 0, "b"), answered(PLAN, 1, "a")])
    end_leg(results, PLAN, [answered(PLAN, 2, "c", "failed", reason="timeout")], leg=2)

    rows = LegRows(results, PLAN, [1])
    read = sum(table.num_rows for table in rows)

    assert read == 2
    group = {"outcome": "accepted", "verdict": None, "reason": None, "rows": 2, "example": "/c/a"}
    assert rows.groups == {1: [group]}


def test_no_rows_make_no_groups() -> None:
    """A leg may have ended before its first row."""
    assert groups_of([]) == []
