"""What an operation did is written down while it works, its receipt says how it ended, and its calls are bounded."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from proofsweep.client.client import Partner
from proofsweep.domain.errors import CallFailed, ConfigError, RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.operations import OperationKind
from proofsweep.operations.operation import CallBudget, OperationContext, OperationLog, OutageGuard, operation_begun
from proofsweep.store.operations import Operations

from ..ended_operations import call_of, operation_named
from ..scripted_service import Scripted, ScriptedService

OPERATION = operation_named("20261120T010000Z_000aa")


class Clock:
    now = OPERATION.started_at

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def receipt_of(operations: Operations) -> dict[str, Any]:
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


KIND = OperationKind.INVENTORY


@pytest.mark.parametrize(
    ("answers", "error", "ended_by"),
    [([Scripted(status=403)], RunMustStop, "key_refused"), ([Scripted(status=500)] * 2, CallFailed, "error")],
)
def test_an_operation_that_fails_has_a_receipt_too(
    context: OperationContext,
    service: ScriptedService,
    answers: list[Scripted],
    error: type[Exception],
    ended_by: str,
) -> None:
    """Its calls were made, whatever became of them."""
    service.script[Call.PROOFS] = [*answers]

    with pytest.raises(error), operation_begun(context, KIND) as work:
        work.partner.proofs()

    operations = Operations(context.results)
    receipt = operations.receipt(*operations.ids()) or {}
    assert (receipt["ended_by"], receipt["calls"], receipt["why"] is not None) == (ended_by, len(answers), True)


def test_without_a_key_nothing_is_written(context: OperationContext, operations: Operations) -> None:
    """The line says what is missing."""

    def no_key() -> str:
        raise ConfigError("There is no key.")

    with pytest.raises(ConfigError), operation_begun(replace(context, key_fingerprint=no_key), KIND):
        raise AssertionError

    assert operations.ids() == []


@pytest.fixture
def log(operations: Operations) -> OperationLog:
    return OperationLog(OPERATION, operations, lambda: OPERATION.started_at)


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


def failure(reason: str) -> CallFailed:
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
