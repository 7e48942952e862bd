"""What an operation did is written down while it works, and its receipt names all of it."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from proofsweep.operations.operation import OperationLog
from proofsweep.store.objects import FolderStore
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Results

from ..ended_operations import call_of, leave_operation, operation_named

OPERATION = operation_named("20261120T010000Z_000aa")


class Clock:
    """A clock that a test moves."""

    now = OPERATION.started_at

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now


@pytest.fixture
def operations(tmp_path: Path) -> Operations:
    """An empty store."""
    return Operations(Results(FolderStore(tmp_path)))


@pytest.fixture
def clock() -> Clock:
    """A clock that stands at the begin of the operation."""
    return Clock()


def receipt_of(operations: Operations) -> dict[str, Any]:
    """Read the receipt."""
    return operations.receipt(OPERATION.operation_id) or {}


def test_calls_and_rows_end_in_parts_that_the_receipt_names(operations: Operations, clock: Clock) -> None:
    """The operation's name stands in each row; a call belongs to no row of a catalog."""
    log = OperationLog(OPERATION, operations, clock)
    log.note(call_of(OPERATION, "r-1"))
    log.add("proofs", [{"proof_id": "p", "state": "no_file"}])

    log.end("complete", {"counts": {"days": 1}})

    receipt = receipt_of(operations)
    names = [part["name"] for part in receipt["parts"]]
    (call,) = operations.results.table("exchanges", names[:1]).to_pylist()
    (row,) = operations.results.table("proofs", names[1:]).to_pylist()
    assert [name.partition("/")[0] for name in names] == ["exchanges", "proofs"]
    assert (receipt["ended_by"], receipt["calls"], receipt["counts"]) == ("complete", 1, {"days": 1})
    assert (call["run_id"], call["leg"], call["manifest_row"]) == (OPERATION.operation_id, 1, None)
    assert (call["environment"], call["request_id"]) == ("beta", "r-1")
    assert (row["operation_id"], row["environment"], row["proof_id"]) == (OPERATION.operation_id, "beta", "p")


def test_a_killed_process_loses_a_minute_at_most(operations: Operations, clock: Clock) -> None:
    """What is older is in a part already."""
    log = OperationLog(OPERATION, operations, clock)
    log.note(call_of(OPERATION, "r-1"))
    assert operations.parts_of(OPERATION) == []

    clock.now += timedelta(seconds=61)
    log.note(call_of(OPERATION, "r-2"))

    assert len(operations.parts_of(OPERATION)) == 1


def test_a_long_operation_keeps_few_rows_in_memory(operations: Operations, clock: Clock) -> None:
    """A part is written for each five thousand."""
    log = OperationLog(OPERATION, operations, clock)

    log.add("proofs", ({"proof_id": "p", "state": "no_file"} for _ in range(12_000)))

    assert len(operations.parts_of(OPERATION)) == 2


def test_an_operation_that_goes_on_counts_what_the_killed_attempt_did(operations: Operations, clock: Clock) -> None:
    """Its receipt names the parts of both, so that an audit knows them."""
    leave_operation(operations.results, OPERATION, [call_of(OPERATION, "r-1")], is_killed=True)
    log = OperationLog(OPERATION, operations, clock)

    log.continue_after_kill()
    log.note(call_of(OPERATION, "r-2"))
    log.end("complete", {})

    receipt = receipt_of(operations)
    assert (receipt["calls"], [part["rows"] for part in receipt["parts"]]) == (2, [1, 1])
