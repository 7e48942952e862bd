"""Get lost sidecars back from the proofs that the service holds."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from proofsweep.config.load import Settings
from proofsweep.operations.recover import RecoveryRequest
from proofsweep.wiring import operations
from proofsweep_flows.ended_flow import ended_flow
from proofsweep_tasks.end_states import state_of_findings
from proofsweep_tasks.key_block import read_block


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

    def work(settings: Settings) -> State[Any]:
        done = operations.recover_sidecars(settings, RecoveryRequest(below=below, prefix=to), read_block)
        return state_of_findings(done.line(), differ="differs" in done.outcomes)

    return ended_flow(config, results, work)
