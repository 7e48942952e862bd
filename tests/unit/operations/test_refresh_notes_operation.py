"""The refresh of notes, from settings to receipt."""

from proofsweep.model.exchanges import Call
from proofsweep.settings import Settings
from proofsweep.store.operations import Operations
from proofsweep.wiring.operations import refresh_interpretations
from proofsweep.wiring.stores import results_for

from ..ended_runs import answered, end_leg, plan_of_run
from ..scripted_service import Scripted, ScriptedService


def test_a_refresh_asks_once_for_each_note(settings: Settings, service: ScriptedService) -> None:
    """When all are ready, nothing is asked, and no operation begins."""
    results, plan = results_for(settings), plan_of_run("20261120T010000Z_000aa", items=2)
    end_leg(results, plan, [answered(plan, number, str(number), proof_id=f"p{number}") for number in range(2)])
    service.usual[Call.INTERPRETATION] = Scripted(document={"status": "ready", "text": "t"})

    first, second = (refresh_interpretations(settings) for _ in range(2))

    (operation_id,) = Operations(results).ids()
    receipt = Operations(results).receipt(operation_id) or {}
    assert (first.wanted, first.states, second.wanted, second.operation_id) == (2, {"ready": 2}, 0, None)
    assert (receipt["calls"], receipt["counts"]) == (3, {"wanted": 2, "states": {"ready": 2}})
