"""`proofsweep verify` and `proofsweep resume`."""

from dataclasses import replace
from functools import partial

import typer

from proofsweep.config.load import Settings
from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.domain.runs import Bounds, Plan
from proofsweep.queries.status import newest_run
from proofsweep.sources.selection import Selection
from proofsweep.wiring.engines import utc_now
from proofsweep.wiring.legs import settle_dead_leg
from proofsweep.wiring.runs import (
    coverage_for,
    plan_catalog,
    refuse_bad_selection,
    run_to_resume,
    supersede_older,
)
from proofsweep.wiring.stores import path_here, resolved_here, results_for
from proofsweep_cli.bounds import print_bounds
from proofsweep_cli.catalog_options import with_selection_options
from proofsweep_cli.key_block import read_block
from proofsweep_cli.options import Anew
from proofsweep_cli.plan_command import print_cautions
from proofsweep_cli.run_options import with_run_options
from proofsweep_cli.run_request import RunRequest, report
from proofsweep_cli.stop_told import stop_told
from proofsweep_cli.work_on_runs import go_on, shown, verify_catalog


@with_run_options
@with_selection_options
def verify(
    catalog: str = typer.Argument(
        metavar="CATALOG",
        help="A manifest (.csv .xlsx .jsonl .parquet, also .gz), a glob of them, a DDEX message (.xml), or a folder.",
    ),
    *,
    anew: bool = Anew,
    selection: Selection,
    request: RunRequest,
) -> int:
    """Verify every audio file of a catalog, and write verdicts, exchanges and runs as Parquet.

    Each row of the catalog ends in one row of `verdicts`. After Ctrl-C, files in flight are finished, finished rows
    are published, and the same command or `proofsweep resume` does the rest: an unfinished run of the catalog goes on
    first, then what was added or is due.

    Example: `proofsweep verify catalog.csv --results /data/proofs --until 06:00`
    """
    settings = request.settings
    request = replace(request, coverage=partial(coverage_for, settings, catalog, selection))
    with stop_told(settings, path_here(catalog)):
        refuse_bad_selection(settings, catalog, selection, request.bounds.max_calls)
        unfinished = None if anew else _unfinished(request, settings, catalog, selection)
    print_bounds(request.out, request.bounds, utc_now())
    print_cautions(request.out, settings, path_here(catalog))

    plan = partial(_planned, settings, catalog, selection, after=unfinished, anew=anew)
    return verify_catalog(request, settings, path_here(catalog), unfinished, plan)


def _planned(
    settings: Settings, catalog: str, selection: Selection, rest: Bounds, *, after: Plan | None, anew: bool
) -> Plan:
    plan = plan_catalog(settings, catalog, read_block, selection=selection, bounds=rest, after=after)
    if anew:
        supersede_older(settings, plan)
    return plan


@with_run_options
def resume(
    run_id: str | None = typer.Argument(
        None, metavar="RUN_ID", help="The run to resume; the newest unfinished one by default."
    ),
    *,
    request: RunRequest,
) -> int:
    """Resume a run that did not end. A finished run does not change: its summary and exit code are given.

    Example: `proofsweep resume --max-duration 2h`
    """
    settings = request.settings
    if run_id is None:
        newest = run_to_resume(settings)
        results = results_for(settings)
        run_id = newest.run_id if newest else newest_run(results)
        if run_id is None:
            raise ResultsError(f"There is no run in {results.store.url}; begin one with: proofsweep verify CATALOG")
    with shown(request.out, "checking whether the last leg is active …"):
        settle_dead_leg(settings, run_id)
    if (run := request.run_status(run_id)).is_over:
        return report(run, request)
    print_bounds(request.out, request.bounds, utc_now())
    return go_on(run_id, request, settings)


def _unfinished(request: RunRequest, settings: Settings, catalog: str, selection: Selection) -> Plan | None:
    """Find the run that goes on first; if it was planned with other options, a person must decide."""
    with shown(request.out, "looking for an unfinished run …"):
        plan = run_to_resume(settings, catalog, selection)
    if plan is None:
        return None
    is_elsewhere = resolved_here(plan.catalog) != resolved_here(catalog)
    if is_elsewhere or plan.selection != selection.text:
        rows = f"{plan.selection or 'all rows'}{f' of {plan.catalog}' if is_elsewhere else ''}"
        raise UsageError(
            f"Run {plan.run_id} of this catalog is unfinished, and was planned with other options ({rows}). Go on with "
            f"it: {request.resume(plan.run_id)}. Or add --anew, which supersedes it."
        )
    request.out.print(
        f"Run {plan.run_id} of this catalog is unfinished and goes on first (--anew would plan anew).", soft_wrap=True
    )
    return plan
