"""Show the rows of an evidence file on one HTML page without a script; the same rows give the same bytes."""

from proofsweep.answers.report.templates import template
from proofsweep.contract.verdicts import MEANING_OF_VALID
from proofsweep.model.evidence import Contents


def evidence_page(contents: Contents) -> str:
    """Write the page."""
    return template("evidence.html.jinja").render(contents=contents, meaning=MEANING_OF_VALID)
