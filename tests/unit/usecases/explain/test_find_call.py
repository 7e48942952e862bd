"""A request ID of an operation leads to its call, also if monitoring made it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.domain.exchanges import Call
from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.operations import Operations
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.explain.find_call import calls_of, find_call

from ...ended_operations import call_of, leave_operation, operation_named
from ...passes_of_monitoring import leave_pass

INVENTORY = operation_named("20261120T010000Z_000aa")
MONITORING = operation_named("20261121T010000Z_000bb", "monitoring")

PASS = replace(MONITORING, started_at=MONITORING.started_at + timedelta(seconds=1))
YEAR = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def operations(tmp_path: Path) -> Operations:
    """An inventory and a pass of monitoring."""
    results = Results(FolderStore(tmp_path))
    leave_operation(results, INVENTORY, [call_of(INVENTORY, "r-1"), call_of(INVENTORY, "r-2", status=500)])
    leave_pass(results, MONITORING.operation_id, probes=[call_of(MONITORING, "r-3", Call.USAGE, 429)])
    return Operations(results)


@pytest.mark.parametrize(
    ("request_id", "expected"),
    [("r-2", (INVENTORY, "proofs", 500)), ("r-3", (PASS, "usage", 429)), ("r-4", None)],
)
def test_a_call_is_found_by_its_request_id(
    operations: Operations, request_id: str, expected: tuple[object, str, int] | None
) -> None:
    """With its operation, or its pass of monitoring, whose environment the packet names."""
    found = find_call(operations, request_id, YEAR)

    assert expected == (None if found is None else (found[0], found[1]["call"], found[1]["status"]))


def test_only_younger_operations_are_searched(operations: Operations) -> None:
    """Monitoring makes hundreds a day."""
    assert find_call(operations, "r-1", datetime(2026, 11, 21, tzinfo=UTC)) is None
    assert find_call(operations, "r-3", datetime(2026, 11, 21, tzinfo=UTC)) is not None


def test_all_calls_of_an_operation_are_given(operations: Operations) -> None:
    """Also those that failed."""
    assert [row["request_id"] for row in calls_of(operations, INVENTORY)] == ["r-1", "r-2"]
