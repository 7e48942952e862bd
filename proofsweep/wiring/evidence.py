"""Evidence, wired: from settings and tags to a zip file."""

from collections.abc import Mapping
from pathlib import Path

from proofsweep.answers.report.evidence_page import evidence_page
from proofsweep.audit.pack_evidence import write_evidence
from proofsweep.files.new_file import new_file
from proofsweep.model.evidence import Contents, Wanted
from proofsweep.settings import Settings
from proofsweep.text import printable
from proofsweep.wiring.selections import selected_rows


def pack_evidence(settings: Settings, run_id: str | None, tags: Mapping[str, str], path: Path) -> Contents:
    """Write the evidence for the rows with all these tags: of a run, or the newest answers of all runs.

    Raises:
        UsageError: there is no such row, none can be proved, or the file exists or cannot be written.
        ResultsError: there is no such run, the store cannot be read, or it is not as its receipts say.
    """
    selected = selected_rows(settings, run_id)
    known = {printable(name): printable(value) for name, value in tags.items()}  # as the tables have them
    wanted = Wanted(environment=selected.environment, run_id=run_id, tags=known)
    with new_file(path) as file:
        return write_evidence(selected, wanted, file, evidence_page)
