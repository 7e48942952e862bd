"""One item that cannot be had stops nothing; a service that fails for everything does."""

import pytest

from proofsweep.errors import CallFailed, RunMustStop
from proofsweep.operations.operation_work import OutageGuard
from proofsweep.partner.partner import Partner


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
