"""Let the service erase proofs for good."""

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from proofsweep.app import App
from proofsweep.domain.errors import UsageError
from proofsweep.operations import erase
from proofsweep_flows.ended_flow import ended_flow
from proofsweep_tasks.end_states import state_of_error
from proofsweep_tasks.stop_on_signals import stopped_on_signals


@flow(name="erase-proofs", retries=0, persist_result=False)
def erase_proofs(
    proofs_file: str, count: int, environment: str, config: str | None = None, results: str | None = None
) -> State[Any]:
    """Erase the proofs that a file names; Completed only if each is gone. No proof ID is a parameter or in a message.

    Args:
        proofs_file: has an ID on each line, or is a CSV file with a column `proof_id`.
        count: the exact number of proofs in it, each counted once, as a confirmation.
        environment: the label of the service's environment, as a confirmation.
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
    """

    def work(app: App) -> State[Any]:
        wanted = erase.read_proof_list([], Path(proofs_file))
        asked = len(wanted.proof_ids), app.environment
        if asked != (count, environment):
            raise UsageError(f"The file has {asked[0]} proofs, and the settings are of {asked[1]}; nothing was erased.")
        with stopped_on_signals(app):
            report = erase.erase_proofs(app.operations, wanted)
        if report.stopped is not None:
            return state_of_error(report.stopped)
        return Failed(message=report.line()) if report.failed else Completed(message=report.line())

    return ended_flow(config, results, work)
