"""A file or a run is explained from the store alone."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.answers.explain.explain import (
    explain_call,
    item_of_history,
    items_meant,
    occurrences_of,
    packet_of,
    packet_of_failed_calls,
    run_or_operation,
)
from proofsweep.answers.explain.search import searching
from proofsweep.errors import ResultsError
from proofsweep.model.layout import exchanges_name
from proofsweep.model.runs import new_run_id
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from ...ended_operations import call_of, leave_operation, operation_named
from ...ended_runs import answered, end_leg, plan_of_run
from ...exchange_rows import exchange

PLAN = plan_of_run("20251120T020000Z_000aa", items=1)


@pytest.fixture
def store(tmp_path: Path) -> Results:
    """A run of one file, with one call that failed and one that succeeded."""
    results = Results(FolderStore(tmp_path))
    end_leg(results, PLAN, [answered(PLAN, 0, "a", audio="/music/a song.wav")])
    calls = [
        exchange(PLAN, 0, "uploads", 1, status=500, request_id="failed-1"),
        exchange(PLAN, 0, "uploads", 2, request_id="good-1"),
    ]
    results.create_part(exchanges_name(PLAN.run_id, PLAN.run_date, 0, 1), "exchanges", calls)
    return results


def test_a_file_is_explained_with_all_its_calls(store: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative location is one of this folder; the packet names no file."""
    monkeypatch.chdir(Path("/"))

    with searching(store) as search:
        likely = items_meant(search, "music/a song.wav", None)
        item_id = item_of_history(search, "music/a song.wav", None)
        found = occurrences_of(search, item_id, None)

    packet = packet_of((each.plan, each.exchanges) for each in found)
    assert likely.only == item_id == "a"
    assert "failed-1" in packet
    assert "good-1" in packet
    assert "song" not in packet


def test_a_run_is_explained_by_its_failed_calls(store: Results) -> None:
    """Calls that succeeded are nothing to look up."""
    packet = packet_of_failed_calls(store, PLAN)

    assert "failed-1" in packet
    assert "good-1" not in packet


def test_only_younger_runs_are_searched(store: Results) -> None:
    """The run is a year old."""
    with searching(store) as search, pytest.raises(ResultsError, match=r"There is no run in .* that began since"):
        item_of_history(search, "a", timedelta(days=1))


def test_a_run_is_told_from_a_file(store: Results) -> None:
    """By the runs that there are."""
    assert run_or_operation(store, PLAN.run_id) == PLAN
    assert run_or_operation(store, "20251120T020000Z_other") is None
    assert run_or_operation(store, "a song.wav") is None


def test_a_call_of_an_operation_is_explained(tmp_path: Path) -> None:
    """It belongs to no file; its packet says what the partner's support needs."""
    results = Results(FolderStore(tmp_path))
    operation = operation_named(new_run_id(datetime.now(UTC), "aa"))
    leave_operation(results, operation, [call_of(operation, "r-1"), call_of(operation, "r-2", status=500)])

    with searching(results) as search:
        found = explain_call(search, "r-1", None)
        assert explain_call(search, "r-3", None) is None

    packet = packet_of_failed_calls(results, operation)
    assert found is not None
    assert "GET /proofs: 200. 1 call" in packet_of([(found[0], [found[1]])])
    assert "r-2" in packet
    assert "r-1" not in packet
    assert run_or_operation(results, operation.operation_id) == operation
