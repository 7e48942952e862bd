"""An operation leaves its intent, its calls and its receipt behind, however it ends."""

import pytest

from proofsweep.config.load import Settings
from proofsweep.domain.errors import CallFailed, ConfigError, RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.operations import OperationKind
from proofsweep.operations.operation import operation_begun
from proofsweep.store.operations import Operations
from proofsweep.wiring.operations import operation_context
from proofsweep.wiring.stores import results_for

from ..scripted_service import Scripted, ScriptedService
from ..wired import Change

KIND = OperationKind.INVENTORY
PAGE = Scripted(document={"items": []})


def test_an_operation_is_whole(settings: Settings, service: ScriptedService) -> None:
    """Its one call is a row of `exchanges`; the receipt says what it cost."""
    service.script[Call.PROOFS] = [PAGE]
    operations = Operations(results_for(settings))

    with operation_begun(operation_context(settings), KIND, intent={"prefix": "x"}) as work:
        operation = work.log.operation
        assert (operations.intent(operation.operation_id) or {})["prefix"] == "x"
        work.partner.proofs()
        work.counts["proofs"] = 0

    receipt = operations.receipt(operation.operation_id) or {}
    (name,) = operations.parts_of(operation)
    assert (receipt["ended_by"], receipt["calls"], receipt["counts"]) == ("complete", 1, {"proofs": 0})
    assert results_for(settings).table("exchanges", [name])["call"].to_pylist() == ["proofs"]


@pytest.mark.parametrize(
    ("answers", "error", "ended_by"),
    [([Scripted(status=403)], RunMustStop, "key_refused"), ([Scripted(status=500)] * 2, CallFailed, "error")],
)
def test_an_operation_that_fails_has_a_receipt_too(
    settings: Settings, service: ScriptedService, answers: list[Scripted], error: type[Exception], ended_by: str
) -> None:
    """Its calls were made, whatever became of them."""
    service.script[Call.PROOFS] = [*answers]

    def ask() -> None:
        with operation_begun(operation_context(settings), KIND) as work:
            work.partner.proofs()

    with pytest.raises(error):
        ask()

    operations = Operations(results_for(settings))
    receipt = operations.receipt(*operations.ids()) or {}
    assert (receipt["ended_by"], receipt["calls"], receipt["why"] is not None) == (ended_by, len(answers), True)


def test_without_a_key_nothing_is_written(change: Change) -> None:
    """The line says what is missing."""
    settings = change(SERVICE__API_KEY_FILE="/nowhere/key")

    with pytest.raises(ConfigError), operation_begun(operation_context(settings), KIND):
        raise AssertionError

    assert Operations(results_for(settings)).ids() == []
