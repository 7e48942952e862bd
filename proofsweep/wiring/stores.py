"""The results store, wired; apart from all that speaks to the service, so that reading a store starts quickly."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from proofsweep.answers.export import export
from proofsweep.answers.report.templates import evidence_page
from proofsweep.answers.views.selected_rows import SelectedRows
from proofsweep.audit.pack_evidence import write_evidence
from proofsweep.catalog.open_catalog import open_catalog
from proofsweep.errors import ResultsError, UsageError
from proofsweep.files.locations import one_line
from proofsweep.files.new_file import new_file
from proofsweep.model.evidence import Contents, Wanted
from proofsweep.model.run_records import OUTCOMES
from proofsweep.model.runs import Plan
from proofsweep.settings import Settings
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex, newest_whole
from proofsweep.store.store import open_store
from proofsweep.text import printable
from proofsweep.verify.plan.redriven_rows import RedrivenRows
from proofsweep.wiring.engines import ReadBlock
from proofsweep.wiring.runs import plan_listed


def results_for(settings: Settings) -> Results:
    """Open the results store that the settings name."""
    return Results(open_store(settings.results.url))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeantRun:
    """A run that is meant.

    Attributes:
        note: which of several catalogs it is of; None if there is one, or the run or its catalog was named.
    """

    results: Results
    plan: Plan
    note: str | None = None


def meant_run(settings: Settings, run_id: str | None, catalog: str | None = None) -> MeantRun:
    """Return a run that is named; or the newest of a catalog; or of all catalogs the newest.

    A pass over a watched folder and a redrive are a part of their catalog: one of them is taken only if there is
    nothing else. Runs that were superseded are never taken.

    Raises:
        ResultsError: there is no such run, or it is not clear which environment is meant.
    """
    results = results_for(settings)
    if run_id is not None:
        return MeantRun(results=results, plan=results.plan(run_id))
    environment = environment_in(results, settings.service.environment)
    index = RunIndex(results).refreshed()
    catalogs = {plan.identity for plan in index.plans(environment)}
    plan = newest_whole(index.plans(environment, catalog))
    if plan is None:
        of_it = "" if catalog is None else f" of the catalog {printable(catalog)}"
        raise ResultsError(f"There is no run{of_it} in {results.store.url}; begin one with: proofsweep verify CATALOG")
    is_one = catalog is not None or len(catalogs) == 1
    of_several = f"of {one_line(plan.identity)}; the store has {len(catalogs)} catalogs (--catalog)."
    note = None if is_one else f"The newest whole run is {plan.run_id}, {of_several}"
    return MeantRun(results=results, plan=plan, note=note)


def environment_in(results: Results, wanted: str) -> str:
    """Return the environment of the settings if the store has runs of it, else the one that it has.

    Raises:
        ResultsError: there is no run, or there are several other environments.
    """
    found = sorted({run.plan.environment for run in RunIndex(results).refreshed().newest_first()})
    if not found:
        raise ResultsError(f"There is no run in {results.store.url}; begin one with: proofsweep verify CATALOG")
    if wanted in found or len(found) == 1:
        return wanted if wanted in found else found[0]
    raise ResultsError(
        f"{results.store.url} holds runs of the environments {', '.join(found)}, and the settings are for {wanted}: "
        "give the config of one of them, or name a run."
    )


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
        return plan_listed(settings, RedrivenRows(rows, location), read_block, reserve=reserve)


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
