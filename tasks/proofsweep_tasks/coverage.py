"""Say in Prefect how much of a catalog has a young answer."""

from collections.abc import Callable
from typing import Any

from prefect import get_run_logger
from prefect.artifacts import create_progress_artifact
from prefect.client.schemas.objects import State

from proofsweep.domain.errors import CatalogError, ResultsError
from proofsweep.verify.due_rows import Coverage


def with_coverage(state: State[Any], count: Callable[[], Coverage | None]) -> State[Any]:
    """Return a state whose message ends with the coverage that is counted, if there is one; it is an artifact too.

    A flow run that was cancelled has none: Prefect would kill it while the catalog is listed.
    """
    try:
        coverage = None if state.is_cancelled() else count()
    except (CatalogError, ResultsError) as error:  # the state stays what the run has earned
        get_run_logger().warning("The coverage of the catalog is not known: %s", error.message)
        return state
    if coverage is None:
        return state
    create_progress_artifact(progress=coverage.percent, key="proofsweep-coverage", description=coverage.sentence)
    return state.model_copy(update={"message": f"{state.message} {coverage.sentence}"})
