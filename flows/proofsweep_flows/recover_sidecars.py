"""Get lost sidecars back from the proofs that the service holds."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from proofsweep.app import App
from proofsweep.operations import recover
from proofsweep_flows.ended_flow import ended_flow
from proofsweep_tasks.end_states import state_of_findings


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

    def work(app: App) -> State[Any]:
        done = recover.recover_sidecars(app.operations, recover.RecoveryRequest(below=below, prefix=to))
        return state_of_findings(done.line(), differ="differs" in done.outcomes)

    return ended_flow(config, results, work)
