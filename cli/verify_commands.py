"""`proofsweep verify` and `proofsweep resume`."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import typer

from cli.bounds import print_bounds
from cli.key_block import read_block
from cli.options import AllowOutside, Anew, Believe, MaxAge, OldestFirst, Root, SinceLast
from cli.plan_command import print_cautions
from cli.run_options import with_run_options
from cli.run_request import RunRequest, report
from cli.work_on_runs import go_on, shown, verify_catalog
from proofsweep.answers.describe_run import newest_run
from proofsweep.errors import ResultsError, UsageError
from proofsweep.files.locations import path_of, resolved_location
from proofsweep.logs import set_up_logs
from proofsweep.model.runs import Plan
from proofsweep.settings import Settings
from proofsweep.verify.budget.bounds import Bounds
from proofsweep.verify.plan.due_rows import DueRules, due_rules, selection_of
from proofsweep.wiring.engines import utc_now
from proofsweep.wiring.runs import coverage_for, plan_catalog, settle_dead_leg
from proofsweep.wiring.unfinished_runs import run_to_resume, supersede_older


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(verify)
    app.command()(resume)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which rows of a catalog a person wants to be verified, as the options of `verify` say."""

    catalog: str
    root: str | None
    allow_outside: bool
    since_last: bool
    max_age: str | None
    oldest_first: bool
    anew: bool

    @property
    def selection(self) -> str:
        """The options that choose rows."""
        return selection_of(
            since_last=self.since_last,
            max_age=self.max_age,
            oldest_first=self.oldest_first,
            root=self.root and resolved_location(_path(self.root)),
            allow_outside=self.allow_outside,
        )

    def due(self, bounds: Bounds) -> DueRules | None:
        """Return which rows are due; UsageError if the options contradict each other."""
        return due_rules(
            utc_now(),
            since_last=self.since_last,
            max_age=self.max_age,
            oldest_first=self.oldest_first,
            max_calls=bounds.max_calls,
        )

    def planned(self, settings: Settings, after: Plan | None, bounds: Bounds) -> Plan:
        """Plan the rows that are due, without those that a run has just ended with."""
        planned = plan_catalog(
            settings,
            self.catalog,
            read_block,
            reserve=bounds.reserve,
            root=self.root,
            allow_outside=self.allow_outside,
            due=self.due(bounds),
            selection=self.selection,
            after=after,
        )
        if self.anew:
            supersede_older(settings, planned)
        return planned


@with_run_options
def verify(
    catalog: str = typer.Argument(
        metavar="CATALOG", help="A manifest (.csv .jsonl .parquet, also .gz), a glob of manifests, or a folder."
    ),
    *,
    root: str | None = Root,
    allow_outside: bool = AllowOutside,
    since_last: bool = SinceLast,
    max_age: str | None = MaxAge,
    oldest_first: bool = OldestFirst,
    anew: bool = Anew,
    request: RunRequest,
) -> int:
    """Verify every audio file of a catalog, and write verdicts, exchanges and runs as Parquet.

    Each row of the catalog ends in one row of `verdicts`. After Ctrl-C, files in flight are finished, finished rows
    are published, and the same command or `proofsweep resume` does the rest: an unfinished run of the catalog goes on
    first, then what was added or is due.

    Example: `proofsweep verify catalog.csv --results /data/proofs --until 06:00`
    """
    set_up_logs()
    settings = request.settings
    wanted = _Wanted(catalog, root, allow_outside, since_last, max_age, oldest_first, anew)
    wanted.due(request.bounds)
    count = partial(coverage_for, settings, catalog, max_age, root=root, allow_outside=allow_outside)
    request = replace(request, coverage=count)
    unfinished = None if anew else _unfinished(request, settings, wanted)
    print_bounds(request.out, request.bounds, utc_now())
    print_cautions(request.out, settings, _path(catalog))
    return verify_catalog(request, settings, unfinished, partial(wanted.planned, settings, unfinished))


@with_run_options
def resume(
    run_id: str | None = typer.Argument(
        None, metavar="RUN_ID", help="The run to resume; the newest unfinished one by default."
    ),
    *,
    believe: bool = Believe,
    request: RunRequest,
) -> int:
    """Resume a run that did not end. A finished run does not change: its summary and exit code are given.

    Example: `proofsweep resume --max-duration 2h`
    """
    set_up_logs()
    settings, request = request.settings, replace(request, believe=believe)
    if run_id is None:
        newest = run_to_resume(settings)
        run_id = newest.run_id if newest else _newest(request)
    with shown(request.out, "checking whether the last leg is active …"):
        settle_dead_leg(settings, run_id)
    if (run := request.run_status(run_id)).is_over:
        return report(run, request)
    print_bounds(request.out, request.bounds, utc_now())
    return go_on(run_id, request, settings)


def _unfinished(request: RunRequest, settings: Settings, wanted: _Wanted) -> Plan | None:
    """Find the run that goes on first; if it was planned with other options, a person must decide."""
    with shown(request.out, "looking for an unfinished run …"):
        plan = run_to_resume(settings, wanted.catalog)
    if plan is None:
        return None
    is_elsewhere = resolved_location(plan.catalog) != resolved_location(_path(wanted.catalog))
    if is_elsewhere or plan.selection != wanted.selection:
        rows = f"{plan.selection or 'all rows'}{f' of {plan.catalog}' if is_elsewhere else ''}"
        raise UsageError(
            f"Run {plan.run_id} of this catalog is unfinished, and was planned with other options ({rows}). Go on with "
            f"it: {request.resume(plan.run_id)}. Or add --anew, which supersedes it."
        )
    request.out.print(
        f"Run {plan.run_id} of this catalog is unfinished and goes on first (--anew would plan anew).", soft_wrap=True
    )
    return plan


def _path(location: str) -> str:
    return path_of(location, str(Path.cwd()))


def _newest(request: RunRequest) -> str:
    run_id = newest_run(request.results)
    if run_id is None:
        raise ResultsError(f"There is no run in {request.results.store.url}; begin one with: proofsweep verify CATALOG")
    return run_id
