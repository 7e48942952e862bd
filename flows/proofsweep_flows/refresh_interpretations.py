"""Ask for the process notes of accepted proofs."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from proofsweep.app import App
from proofsweep.operations.notes import refresh_notes
from proofsweep_flows.ended_flow import ended_flow


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

    def work(app: App) -> State[Any]:
        done = refresh_notes(app.operations, max_calls)
        return Completed(message=done.line())

    return ended_flow(config, results, work)
