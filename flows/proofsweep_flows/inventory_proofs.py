"""List all proofs, and reconcile them with the newest answers."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from proofsweep.app import App
from proofsweep.operations import inventory
from proofsweep_flows.ended_flow import ended_flow
from proofsweep_tasks.end_states import state_of_findings


@flow(name="inventory-proofs", retries=0, persist_result=False)
def inventory_proofs(config: str | None = None, results: str | None = None) -> State[Any]:
    """Write one row for each proof into the table `proofs`; the message says what was found.

    Args:
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
    """

    def work(app: App) -> State[Any]:
        found = inventory.inventory_proofs(app.operations)
        return state_of_findings(found.line(), differ=found.states.get("differs", 0) > 0)

    return ended_flow(config, results, work)
