"""Verify proofs again by their IDs, without local files."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from proofsweep.app import App
from proofsweep.operations.inventory import masters_of
from proofsweep_flows.ended_flow import ended_flow
from proofsweep_flows.verify_catalog import verify_catalog
from proofsweep_tasks.end_states import state_of_findings
from proofsweep_tasks.this_flow_run import tell_alerts, tries_left


@flow(name="verify-proofs", retries=0, persist_result=False)
def verify_proofs(
    catalog: str, config: str | None = None, results: str | None = None, max_calls: int | None = None
) -> State[Any]:
    """Verify a list of proofs as a run of its own; the state is that of the run, or FoundDifferences.

    Args:
        catalog: location of a list of proof IDs (docs/operations.md); the IDs themselves are never parameters.
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
        max_calls: the most keyed calls that this flow run makes.
    """

    def work(app: App) -> State[Any]:
        run = verify_catalog(catalog=catalog, config=config, results=results, max_calls=max_calls, return_state=True)
        run_id = run.result() if run.is_completed() else None
        line, differ = (None, False) if run_id is None else masters_of(app.results, str(run_id))
        if line is None or not differ:
            said = run.message if line is None else f"{run.message} {line}."
            return State(type=run.type, name=run.name, message=said)
        found = state_of_findings(f"{run.message} {line}.", differ=True)
        end = app.alerts.end_of_flow("verify-proofs", str(found.name), line, tries_left=tries_left())
        tell_alerts(app, end)
        return found

    return ended_flow(config, results, work, tells_itself=True)
