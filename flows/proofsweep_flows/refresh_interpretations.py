"""Ask for the process notes of accepted proofs."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from proofsweep.config.load import Settings
from proofsweep.wiring import operations
from proofsweep_flows.ended_flow import ended_flow
from proofsweep_tasks.key_block import read_block


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

    def work(settings: Settings) -> State[Any]:
        done = operations.refresh_interpretations(settings, read_block, max_calls)
        return Completed(message=done.line())

    return ended_flow(config, results, work)
