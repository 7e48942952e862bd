"""Do an operation that is scheduled: reconcile all proofs with the newest answers, or ask for process notes."""

from typing import Any, Literal

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from proofsweep.app import App
from proofsweep.operations import inventory, notes
from proofsweep_flows.ended_flow import ended_flow


@flow(name="run-operation", retries=0, persist_result=False)
def run_operation(
    kind: Literal["inventory", "notes"],
    config: str | None = None,
    results: str | None = None,
    max_calls: int | None = None,
) -> State[Any]:
    """Write a row for each proof into `proofs`, or for each note into `interpretations`; the message has the counts.

    Args:
        kind: which operation.
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
        max_calls: keyed calls for notes at most; the rest is asked for next time.
    """

    def work(app: App) -> State[Any]:
        if kind == "notes":
            report = notes.refresh_notes(app.operations(max_calls))
        else:
            report = inventory.inventory_proofs(app.operations())
        return Completed(message=report.line)

    return ended_flow(config, results, work)
