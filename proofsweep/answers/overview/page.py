"""The overview as a page."""

from proofsweep.answers.overview.tables import FIGURES, notes_of, tables_of
from proofsweep.answers.overview.values import Overview
from proofsweep.answers.report.choice import ALONE, PageLinks
from proofsweep.answers.report.templates import template


def overview_page(found: Overview, results: str, links: PageLinks = ALONE) -> str:
    """Write the page; `results` names the stores."""
    return template("overview.html.jinja").render(
        tables=list(tables_of(found)),
        notes=list(notes_of(found)),
        figures=FIGURES,
        made_at=found.at,
        results=results,
        links=links,
    )
