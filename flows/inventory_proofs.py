"""List all proofs, and reconcile them with the newest answers."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from proofsweep.bootstrap import proofs
from proofsweep.errors import ProofsweepError
from proofsweep.logs import set_up_logs
from proofsweep.reporting.operations import line_of_inventory
from proofsweep.settings import load_settings
from tasks.end_states import state_of_error
from tasks.key_block import read_block
from tasks.known_ends import log_known_ends_on_one_line


@flow(name="inventory-proofs", retries=0, persist_result=False)
def inventory_proofs(config: str | None = None, results: str | None = None) -> State[Any]:
    """Write one row for each proof into the table `proofs`; the message says what was found.

    Args:
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
    """
    set_up_logs()
    log_known_ends_on_one_line()
    try:
        return Completed(message=line_of_inventory(proofs.inventory_proofs(load_settings(config, results), read_block)))
    except ProofsweepError as error:
        return state_of_error(error)
