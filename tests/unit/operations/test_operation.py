"""What an operation did is written down while it works, its receipt says how it ended, and its calls are bounded."""

import threading
from dataclasses import replace
from functools import partial

import pytest

from proofsweep.domain.errors import CallFailed, ConfigError, RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import Bounds, OperationKind
from proofsweep.operations.operation import Operator
from proofsweep.store.layout import journal_folder
from proofsweep.store.log import EntryKind, Log
from proofsweep.verify.repair import end_dead_legs

from ..ended_operations import call_of, leave_operation, operation_named, receipt_of
from ..scripted_service import Scripted, ScriptedService

KIND = OperationKind.INVENTORY
KILLED = operation_named("20261120T010000Z_000aa")


def test_calls_and_rows_end_in_parts_that_the_receipt_names(operator: Operator, service: ScriptedService) -> None:
    """The operation's name stands in each row; a call belongs to no row of a catalog."""
    service.usual[Call.PROOFS] = Scripted(document={"items": []})
    with operator.begun(KIND) as work:
        work.ask(Call.PROOFS, lambda partner: partner.proofs())
        work.add({"proof_id": "p", "state": "no_file"})

    receipt = receipt_of(operator.results)
    operation_id = receipt["run_id"]
    names = [part["name"] for part in receipt["parts"]]
    (row,) = operator.results.table("proofs", names[:1]).to_pylist()
    (call,) = operator.results.table("exchanges", names[1:]).to_pylist()
    log = Log(operator.results.store)
    *_, entry = log.entries(1, log.newest())
    assert [name.partition("/")[0] for name in names] == ["proofs", "exchanges"]
    assert (receipt["ended_by"], receipt["counts"]["calls"]) == ("complete", 1)
    assert (call["run_id"], call["leg"], call["manifest_row"]) == (operation_id, 1, None)
    assert (call["environment"], call["request_id"]) == ("beta", "id-1")
    assert (row["operation_id"], row["environment"], row["proof_id"]) == (operation_id, "beta", "p")
    assert (log.newest(), entry.kind, entry.run_id, entry.facts["leg"]) == (3, EntryKind.ENDED, operation_id, 1)
    assert operator.results.store.names(journal_folder(operation_id, 1)) == []


def test_a_killed_one_is_ended_by_the_next(operator: Operator) -> None:
    """Of any kind. Its rows and calls come into parts; one whose process is alive is left alone."""
    rows = {"proofs": [{"proof_id": "p", "state": "no_file"}]}
    leave_operation(operator.results, KILLED, [call_of(KILLED, "r-1")], rows, is_killed=True)
    assert receipt_of(operator.results) == {}

    with operator.begun(OperationKind.RECOVERY) as work:
        assert receipt_of(operator.results, KILLED.operation_id)["ended_by"] == "killed"
        end_dead_legs(operator.results, operator.service.clock)
        assert receipt_of(operator.results, work.operation.operation_id) == {}

    table = operator.results.table("proofs", operator.results.all_parts("proofs"))
    assert table["proof_id"].to_pylist() == ["p"]
    operations = operator.results.log.runs().operations
    assert [(len(record.legs), len(record.open)) for record in operations.values()] == [(1, 0), (1, 0)]


def ask_in_vain(operator: Operator, times: int = 1) -> None:
    with operator.begun(KIND) as work:
        for _ in range(times):
            failed, _exchange = work.ask(Call.PROOFS, lambda partner: partner.proofs())
        assert isinstance(failed, CallFailed)
        raise failed


@pytest.mark.parametrize(
    ("answer", "error", "ended_by"),
    [
        (Scripted(status=403, error_code="forbidden"), RunMustStop, "key_refused"),
        (Scripted(status=403), CallFailed, "error"),
        (Scripted(status=500), CallFailed, "error"),
    ],
)
def test_an_operation_that_fails_has_a_receipt_too(
    operator: Operator, service: ScriptedService, answer: Scripted, error: type[Exception], ended_by: str
) -> None:
    """Its calls were made, whatever became of them."""
    service.usual[Call.PROOFS] = answer

    with pytest.raises(error):
        ask_in_vain(operator)

    receipt = receipt_of(operator.results)
    assert (receipt["ended_by"], receipt["counts"]["calls"] > 0, receipt["why"] is not None) == (ended_by, True, True)


def test_without_a_key_nothing_is_written(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line says what is missing."""

    def no_key(_service: object) -> str:
        raise ConfigError("There is no key.")

    monkeypatch.setattr(type(operator.service), "key_fingerprint", property(no_key))
    with pytest.raises(ConfigError), operator.begun(KIND):
        raise AssertionError

    assert operator.results.store.folders("_runs") == []


def test_calls_in_flight_are_counted_before_another_begins(operator: Operator, service: ScriptedService) -> None:
    """Of two calls that were given, one is under way, so a third is refused while the second can still be made."""
    service.usual[Call.PROOFS] = Scripted(document={"items": []})
    begun, go_on = threading.Event(), threading.Event()

    def wait(_call: Call) -> None:
        begun.set()
        go_on.wait(10)

    def ask_three_times() -> None:
        with replace(operator, bounds=Bounds(max_calls=2)).begun(KIND) as work:
            ask = partial(work.ask, Call.PROOFS, lambda partner: partner.proofs())
            service.on_call = wait
            first = threading.Thread(target=ask)
            first.start()
            begun.wait(10)
            service.on_call = lambda _call: None
            ask()
            try:
                ask()
            finally:
                go_on.set()
                first.join()

    with pytest.raises(RunMustStop, match="Of the 2 calls that it was given, none are left") as stopped:
        ask_three_times()

    assert stopped.value.ended_by == "window"
    assert service.calls == [Call.PROOFS] * 2


def test_failures_in_a_row_end_the_operation(operator: Operator, service: ScriptedService) -> None:
    """A refusal of one item is an answer: it ends the row."""
    down = [Scripted(status=500)] * 2
    service.script[Call.PROOFS] = [*down * 4, Scripted(status=404), *down * 5]

    with pytest.raises(RunMustStop, match="The service fails for everything") as stopped:
        ask_in_vain(operator, times=20)

    assert stopped.value.ended_by == "breaker"
    assert len(service.calls) == 19
