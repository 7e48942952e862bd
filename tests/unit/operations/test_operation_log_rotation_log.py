"""The calls of a rotation are recorded once, by whichever command can."""

from datetime import UTC, datetime

import pytest

from proofsweep.domain.exchanges import Call
from proofsweep.domain.operations import RotationIntent
from proofsweep.operations.operation import RotationLog
from proofsweep.store.objects import FolderStore
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Results

from ..ended_operations import call_of, operation_named

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LATER = operation_named("20261121T120000Z_000bb", "rotation")
INTENT = RotationIntent(
    operation_id="20261120T120000Z_000aa",
    idempotency_key="rotation-number-1",
    environment="beta",
    base_url="https://partner.example/v1",
    key_fingerprint="0" * 12,
    location="/key",
    created_at=NOW.isoformat(),
)


@pytest.fixture
def operations(tmp_path: pytest.TempPathFactory) -> Operations:
    """The operations of an empty store."""
    return Operations(Results(FolderStore(tmp_path)))  # type: ignore[arg-type]  # pytest's tmp_path is a path


def logged(operations: Operations, *request_ids: str) -> RotationLog:
    """Begin a log that has noted calls."""
    log = RotationLog(operations, lambda: LATER, lambda: NOW)
    for request_id in request_ids:
        log.note(call_of(INTENT.operation, request_id, Call.ROTATE))
    return log


def recorded(operations: Operations) -> list[tuple[str, str]]:
    """Return the run ID and the request ID of each recorded call."""
    results = operations.results
    rows = results.table("exchanges", results.all_parts("exchanges")).to_pylist()
    return sorted((str(row["run_id"]), str(row["request_id"])) for row in rows)


def test_an_interrupted_command_leaves_its_calls_and_the_next_one_the_receipt(operations: Operations) -> None:
    """The receipt names the parts of both, and counts the calls of both."""
    logged(operations, "r-1").flush(INTENT)
    log = logged(operations, "r-2")

    log.close(INTENT)
    log.flush(INTENT)

    receipt = operations.receipt(INTENT.operation_id) or {}
    assert recorded(operations) == [(INTENT.operation_id, "r-1"), (INTENT.operation_id, "r-2")]
    assert (receipt["calls"], len(receipt["parts"])) == (2, 2)  # type: ignore[arg-type]  # a list, as just written


def test_calls_after_the_end_of_their_rotation_are_an_operation_of_their_own(operations: Operations) -> None:
    """Two commands were at work at once; a receipt is never changed."""
    late = logged(operations, "r-2")
    logged(operations, "r-1").close(INTENT)

    late.close(INTENT)
    late.flush(INTENT)

    assert recorded(operations) == [(INTENT.operation_id, "r-1"), (LATER.operation_id, "r-2")]
    assert operations.receipt(LATER.operation_id) is not None


def test_without_a_call_nothing_is_written(operations: Operations) -> None:
    """A command that only found everything done leaves no trace."""
    logged(operations).flush(INTENT)
    logged(operations).flush(None)

    assert operations.ids() == []
