"""Rows that a person selects: redriven in a new run, or packed as evidence."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from proofsweep.answers.export import export
from proofsweep.answers.report.templates import evidence_page
from proofsweep.answers.views.selected_rows import SelectedRows
from proofsweep.audit.pack_evidence import write_evidence
from proofsweep.catalog.open_catalog import open_catalog
from proofsweep.errors import UsageError
from proofsweep.files.locations import one_line
from proofsweep.files.new_file import new_file
from proofsweep.model.evidence import Contents, Wanted
from proofsweep.model.run_records import OUTCOMES
from proofsweep.model.runs import Plan
from proofsweep.settings import Settings
from proofsweep.text import printable
from proofsweep.verify.plan.redriven_rows import RedrivenRows
from proofsweep.verify.plan.selection import Selection
from proofsweep.wiring.engines import ReadBlock
from proofsweep.wiring.runs import plan_listed
from proofsweep.wiring.stores import environment_in, results_for


def selected_rows(
    settings: Settings, run_id: str | None, outcomes: Sequence[str] = OUTCOMES, reasons: Sequence[str] | None = None
) -> SelectedRows:
    """Choose rows of a run; without one, of how each file stands now in the settings' environment.

    If the store has no run of that environment, but runs of one other, it is that one.

    Raises:
        ResultsError: there is no such run, or no run at all, or it is not clear which environment is meant.
    """
    results = results_for(settings)
    if run_id is not None:
        plan = results.plan(run_id)
        environment = plan.environment
    else:
        plan, environment = None, environment_in(results, settings.service.environment)
    return SelectedRows(results=results, environment=environment, plan=plan, outcomes=outcomes, reasons=reasons)


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


def plan_redrive(settings: Settings, selected: SelectedRows, read_block: ReadBlock | None, *, reserve: int) -> Plan:
    """Plan a new run of just these rows: each keeps its item's id and its tags, and is looked at anew.

    Raises:
        UsageError: there is no such row, or they are of several catalogs or of another environment.
        CatalogError, ConfigError, ResultsError, RunMustStop: it cannot be planned; nothing was written.
    """
    wanted = settings.service.environment
    if selected.environment != wanted:
        raise UsageError(
            f"These rows are of the environment {selected.environment!r}, and the settings are for {wanted!r}: give "
            "the config of that environment."
        )
    with ExitStack() as kept:
        folder = Path(kept.enter_context(TemporaryDirectory(prefix="proofsweep-")))
        exported = export(selected, folder / "rows.csv")
        if not exported.reports:
            raise UsageError("There is no such row: nothing to verify again.")
        if len(exported.catalogs) > 1:
            named = ", ".join(sorted(one_line(catalog) for catalog, _ in exported.catalogs))
            raise UsageError(f"These rows are of {len(exported.catalogs)} catalogs ({named}): name a run.")
        [(location, root)] = exported.catalogs
        rows = open_catalog(str(folder / "rows.csv"), sidecar_names=(), root=root, is_confined=root is not None)
        selection = Selection(reasons=tuple(selected.reasons or ()))
        return plan_listed(settings, RedrivenRows(rows, location), read_block, selection=selection, reserve=reserve)
