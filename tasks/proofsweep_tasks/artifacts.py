"""Show in Prefect how a run ended, what became of delivered files, and how much of a catalog has a young answer."""

from collections.abc import Callable
from typing import Any

from prefect import get_run_logger
from prefect.artifacts import create_markdown_artifact, create_progress_artifact
from prefect.client.schemas.objects import State

from proofsweep.domain.errors import CatalogError, ResultsError
from proofsweep.queries.status import RunStatus, named_files
from proofsweep.reports.run import markdown_of
from proofsweep.store.parts import Results
from proofsweep.verify.due_rows import Coverage


def show_summary(run: RunStatus, results: Results) -> None:
    """Write the summary as a Markdown artifact of the flow run."""
    markdown = markdown_of(run, results.store.url, named_files(results, run))
    create_markdown_artifact(key="proofsweep-summary", markdown=markdown)


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
