"""Get lost sidecars back from the proofs that the service holds."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from proofsweep.bootstrap import proofs
from proofsweep.domain.proofs import RecoveryRequest
from proofsweep.errors import ProofsweepError
from proofsweep.logs import set_up_logs
from proofsweep.reporting.operations import line_of_recovery
from proofsweep.settings import load_settings
from tasks.end_states import state_of_error
from tasks.key_block import read_block
from tasks.known_ends import log_known_ends_on_one_line


@flow(name="recover-sidecars", retries=0, persist_result=False)
def recover_sidecars(
    config: str | None = None, results: str | None = None, below: str = "", to: str | None = None
) -> State[Any]:
    """Write the sealed sidecars of items whose own are missing; no file is overwritten.

    Args:
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
        below: only items whose audio's location begins so.
        to: a folder or a bucket's prefix for the sidecars; None for beside the audio.
    """
    set_up_logs()
    log_known_ends_on_one_line()
    try:
        wanted = RecoveryRequest(below=below, prefix=to)
        done = proofs.recover_sidecars(load_settings(config, results), wanted, read_block)
        return Completed(message=line_of_recovery(done))
    except ProofsweepError as error:
        return state_of_error(error)
