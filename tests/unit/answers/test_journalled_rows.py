"""What a killed leg wrote down is counted before the next leg publishes it."""

from pathlib import Path

import pytest

from proofsweep.answers.journalled_rows import journalled_calls, unpublished_rows
from proofsweep.model.runs import Plan
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from ..ended_runs import plan_of_run
from ..left_behind import write_journal, write_part

COLUMNS = ["manifest_row", "outcome"]


@pytest.fixture
def plan() -> Plan:
    """A run of two shards of two rows."""
    return plan_of_run("20261120T120000Z_000aa", 4, shards=2, shard_items=2)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(FolderStore(tmp_path))


def rows_of(results: Results, plan: Plan, leg: int) -> list[int]:
    """List the rows that wait."""
    tables = unpublished_rows(results, plan, leg, COLUMNS)
    return sorted(number for table in tables for number in table["manifest_row"].to_pylist())


def test_a_row_of_two_processes_waits_once(results: Results, plan: Plan) -> None:
    """A process that was lost may have written down what another one did again."""
    write_journal(results, plan, 1, [0, 1])
    write_journal(results, plan, 1, [1, 3], writer="other")

    assert rows_of(results, plan, 1) == [0, 1, 3]
    assert journalled_calls(results, plan, 1) == {"calls": 4, "throttled": 0, "bytes_sent": 0}


def test_a_shard_that_the_leg_has_published_does_not_wait(results: Results, plan: Plan) -> None:
    """Its rows stay in the journal until the leg ends; those of an earlier leg are others."""
    write_part(results, plan, 1, 1, [2])
    write_journal(results, plan, 2, [0, 1, 3])
    write_part(results, plan, 2, 0, [0, 1])

    assert rows_of(results, plan, 2) == [3]


def test_without_a_journal_nothing_waits(results: Results, plan: Plan) -> None:
    """A leg that was killed before its first row."""
    assert rows_of(results, plan, 1) == []
    assert journalled_calls(results, plan, 1)["calls"] == 0
