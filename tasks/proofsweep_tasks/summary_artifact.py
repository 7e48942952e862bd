"""Show the run's summary in Prefect's UI."""

from prefect.artifacts import create_markdown_artifact

from proofsweep.queries.status import RunStatus, named_files
from proofsweep.reports.run import markdown_of
from proofsweep.store.parts import Results


def show_summary(run: RunStatus, results: Results) -> None:
    """Write the summary as a Markdown artifact of the flow run."""
    markdown = markdown_of(run, results.store.url, named_files(results, run))
    create_markdown_artifact(key="proofsweep-summary", markdown=markdown)


def show_deliveries(markdown: str) -> None:
    """Write what became of delivered files as a Markdown artifact of the flow run."""
    create_markdown_artifact(key="proofsweep-deliveries", markdown=markdown)
