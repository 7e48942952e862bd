"""Which run, and which environment, a person means who does not name them."""

from dataclasses import dataclass

from proofsweep.config.locations import one_line
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import Plan
from proofsweep.domain.text import printable
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.runs import RunIndex, newest_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class MeantRun:
    results: Results
    plan: Plan
    note: str | None = None  # which of several catalogs it is of; None if there is one, or the run or it was named


def meant_run(results: Results, environment: str, run_id: str | None, catalog: str | None = None) -> MeantRun:
    """Return a run that is named, else the newest whole one; ResultsError if there is none, or several environments."""
    if run_id is not None:
        return MeantRun(results=results, plan=results.plan(run_id))
    environment = environment_in(results, environment)
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
    """Return the environment that is wanted if the store has runs of it, else the only one; ResultsError otherwise."""
    found = sorted({run.plan.environment for run in RunIndex(results).refreshed().newest_first()})
    if not found:
        raise ResultsError(f"There is no run in {results.store.url}; begin one with: proofsweep verify CATALOG")
    if wanted in found or len(found) == 1:
        return wanted if wanted in found else found[0]
    raise ResultsError(
        f"{results.store.url} holds runs of the environments {', '.join(found)}, and the settings are for {wanted}: "
        "give the config of one of them, or name a run."
    )
