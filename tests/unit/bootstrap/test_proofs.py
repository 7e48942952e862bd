"""Operations on proofs, from settings to receipt."""

from proofsweep.bootstrap.proofs import inventory_proofs
from proofsweep.bootstrap.runs import results_for
from proofsweep.domain.exchanges import Call
from proofsweep.settings import Settings
from proofsweep.storage.results.operations import Operations

from ..usecases.scripted_service import Scripted, ScriptedService


def test_an_inventory_is_recorded(settings: Settings, service: ScriptedService) -> None:
    """The receipt counts the states, and each call: health costs nothing."""
    service.script[Call.PROOFS] = [Scripted(document={"items": [{"proofId": "a"}]})]

    found = inventory_proofs(settings)

    receipt = Operations(results_for(settings)).receipt(found.operation_id) or {}
    assert (receipt["kind"], receipt["calls"]) == ("inventory", 2)
    assert receipt["counts"] == {"no_file": 1, "unnamed": 0, "problem": None}
