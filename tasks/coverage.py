"""Say in Prefect how much of a catalog has a young answer."""

from collections.abc import Callable

from prefect import get_run_logger
from prefect.artifacts import create_progress_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed

from proofsweep.answers.run_status import RunStatus
from proofsweep.errors import CatalogError, NothingDue, ResultsError
from proofsweep.verify.plan.coverage import Coverage
from tasks.end_states import state_after_run


def state_with_coverage(
    verify: Callable[[], RunStatus], head: Callable[[RunStatus], str | None], count: Callable[[], Coverage | None]
) -> State[str]:
    """Verify, and give the state; nothing to do is Completed. Its message ends with the coverage, if there is one.

    The coverage is an artifact too. A flow run that was cancelled has none: Prefect would kill it while the catalog is
    listed.
    """
    try:
        run = verify()
        state = state_after_run(run, head(run))
    except NothingDue as nothing:
        state = Completed(message=f"{nothing.message}.")
    try:
        coverage = None if state.is_cancelled() else count()
    except (CatalogError, ResultsError) as error:  # the state stays what the run has earned
        get_run_logger().warning("The coverage of the catalog is not known: %s", error.message)
        return state
    if coverage is None:
        return state
    create_progress_artifact(progress=coverage.percent, key="proofsweep-coverage", description=coverage.sentence)
    return state.model_copy(update={"message": f"{state.message} {coverage.sentence}"})
