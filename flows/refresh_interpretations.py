"""Ask for the process notes of accepted proofs."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from proofsweep.bootstrap import interpretations
from proofsweep.errors import ProofsweepError
from proofsweep.logs import set_up_logs
from proofsweep.reporting.operations import line_of_notes
from proofsweep.settings import load_settings
from tasks.end_states import state_of_error
from tasks.key_block import read_block
from tasks.known_ends import log_known_ends_on_one_line


@flow(name="refresh-interpretations", retries=0, persist_result=False)
def refresh_interpretations(
    config: str | None = None, results: str | None = None, max_calls: int | None = None
) -> State[Any]:
    """Write one row for each note that was asked for into the table `interpretations`; no verdict changes.

    Args:
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
        max_calls: keyed calls of this operation at most.
    """
    set_up_logs()
    log_known_ends_on_one_line()
    try:
        settings = load_settings(config, results)
        return Completed(
            message=line_of_notes(interpretations.refresh_interpretations(settings, read_block, max_calls))
        )
    except ProofsweepError as error:
        return state_of_error(error)
