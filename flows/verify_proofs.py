"""Verify proofs again by their IDs, without local files."""

from typing import Any

from prefect import flow, get_run_logger
from prefect.client.schemas.objects import State

from flows.verify_catalog import verify_catalog
from proofsweep.bootstrap.proofs import line_of_masters
from proofsweep.settings import load_settings


@flow(name="verify-proofs", retries=0, persist_result=False)
def verify_proofs(
    catalog: str, config: str | None = None, results: str | None = None, max_calls: int | None = None
) -> State[Any]:
    """Verify a list of proofs as a run of its own; the state is that of the run.

    Args:
        catalog: location of a list of proof IDs (docs/operations.md); the IDs themselves are never parameters.
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
        max_calls: the most keyed calls that this flow run makes.
    """
    state = verify_catalog(catalog=catalog, config=config, results=results, max_calls=max_calls, return_state=True)
    run_id = str(state.result()) if state.is_completed() else None
    line = None if run_id is None else line_of_masters(load_settings(config, results), run_id)
    if line is not None:
        get_run_logger().info(line)
    return State(type=state.type, name=state.name, message=state.message)
