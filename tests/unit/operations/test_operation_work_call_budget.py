"""An operation never begins work that its calls do not cover."""

from pathlib import Path

import pytest

from proofsweep.client.client import Partner
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, RunMustStop
from proofsweep.operations.operation import CallBudget, OperationLog, OutageGuard
from proofsweep.store.objects import FolderStore
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Results

from ..ended_operations import call_of, operation_named

OPERATION = operation_named("20261120T010000Z_000aa")


@pytest.fixture
def log(tmp_path: Path) -> OperationLog:
    """A log without calls."""
    return OperationLog(OPERATION, Operations(Results(FolderStore(tmp_path))), lambda: OPERATION.started_at)


def test_what_others_were_promised_is_not_given_twice(log: OperationLog) -> None:
    """A promise ends when its calls are made, which the log has counted then."""
    budget = CallBudget(log, 2)

    with budget.promised():
        with (
            budget.promised(),
            pytest.raises(RunMustStop, match="Of the 2 calls that it was given, none are left") as stopped,
            budget.promised(),
        ):
            raise AssertionError
        with budget.promised():
            log.note(call_of(OPERATION, "r-1"))
        with pytest.raises(RunMustStop), budget.promised():
            raise AssertionError

    assert stopped.value.ended_by == "window"


def test_a_used_up_quota_is_called_that(log: OperationLog) -> None:
    """Its exit code is another one."""
    with (
        pytest.raises(RunMustStop, match="that the quota leaves") as stopped,
        CallBudget(log, 0, EndedBy.QUOTA).promised(),
    ):
        raise AssertionError

    assert stopped.value.ended_by == "quota"


def failure(reason: str) -> CallFailed:
    """Make a failed call."""
    return CallFailed("It failed.", stage="proof", reason=reason)


def test_failures_in_a_row_end_the_operation(partner: Partner) -> None:
    """A refusal of one item is an answer: it ends the row."""
    guard = OutageGuard(partner, most_failures=3)
    for reason in ("http_500", "timeout", "http_404", "connection", "bad_answer"):
        guard.failed(failure(reason))
    guard.answered()
    guard.failed(failure("http_503"))
    guard.failed(failure("http_503"))

    with pytest.raises(RunMustStop, match="The service fails for everything: It failed") as stopped:
        guard.failed(failure("http_503"))

    assert stopped.value.ended_by == "breaker"
