"""Show the run's summary in Prefect's UI."""

from prefect.artifacts import create_markdown_artifact

from proofsweep.reporting.run_status import RunStatus
from proofsweep.reporting.summary import markdown_of


def show_summary(run: RunStatus, results_url: str) -> None:
    """Write the summary as a Markdown artifact of the flow run."""
    create_markdown_artifact(key="proofsweep-summary", markdown=markdown_of(run, results_url))


def show_deliveries(markdown: str) -> None:
    """Write what became of delivered files as a Markdown artifact of the flow run."""
    create_markdown_artifact(key="proofsweep-deliveries", markdown=markdown)
