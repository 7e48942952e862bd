"""`proofsweep verify` and `proofsweep resume`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial

import typer

from proofsweep.alerts.rules import state_of_ending
from proofsweep.app import App, utc_now
from proofsweep.config.locations import resolved_here
from proofsweep.domain.errors import NothingDue, ResultsError, RunMustStop, UsageError
from proofsweep.domain.runs import Bounds, Plan
from proofsweep.domain.text import counted
from proofsweep.queries.status import RunStatus, newest_run
from proofsweep.reports.run import unsent_pairs_note
from proofsweep.sources.selection import Selection
from proofsweep.verify.attempt import settle_last_legs
from proofsweep_cli.command import open_app
from proofsweep_cli.embedded_server import EmbeddedServer, prefect_api
from proofsweep_cli.exit_codes import ExitCode, code_of_run
from proofsweep_cli.options import (
    AsJson,
    Config,
    MaxAge,
    MaxCalls,
    NewerThan,
    OldestFirst,
    Only,
    ResultsUrl,
    SinceLast,
    Until,
    Where,
    print_bounds,
    words_in,
)
from proofsweep_cli.run_flow import run_leg
from proofsweep_cli.run_request import RunRequest, report
from proofsweep_cli.run_screen import print_forecast
from proofsweep_cli.screen import print_error, print_nothing_due


def verify(
    catalog: str = typer.Argument(
        metavar="CATALOG",
        help="A manifest (.csv .xlsx .jsonl .parquet, also .gz), a glob of them, a DDEX message (.xml), or a folder.",
    ),
    *,
    max_age: str | None = MaxAge,
    since_last: bool = SinceLast,
    oldest_first: bool = OldestFirst,
    where: str | None = Where,
    newer_than: str | None = NewerThan,
    only: list[str] = Only,
    max_calls: int | None = MaxCalls,
    until: str | None = Until,
    partitions: int | None = typer.Option(
        None,
        "--partitions",
        metavar="N",
        min=1,
        max=64,
        help="Divide a new run into so many parts, of which each has a process of its own; it needs the extra dask.",
    ),
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Verify every audio file of a catalog, and write verdicts, exchanges and runs as Parquet.

    Each row of the catalog ends in one row of `verdicts`. After Ctrl-C, files in flight are finished, finished rows
    are published, and the same command or `proofsweep resume` does the rest: an unfinished run of the catalog goes on
    first, then what was added or is due.

    Example: `proofsweep verify catalog.csv --results /data/proofs --until 06:00`
    """
    app = open_app(config, results)
    bounds = app.bounds(max_calls=max_calls, until=until)
    selection = Selection(
        since_last=since_last,
        max_age=max_age,
        oldest_first=oldest_first,
        where=where,
        newer_than=newer_than,
        only=words_in(only),
    )
    request = RunRequest(app=app, config=config, results_url=results, as_json=as_json, bounds=bounds)
    with stop_told(app):
        app.refuse_bad_selection(catalog, selection, bounds.max_calls)
        unfinished = _unfinished(request, catalog, selection)
    print_bounds(request.out, bounds, utc_now())

    plan = partial(app.plan, catalog, selection, after=unfinished, partitions=partitions)
    return _verify_in_turn(request, unfinished, plan)


def resume(
    run_id: str | None = typer.Argument(
        None, metavar="[RUN]", help="The run to resume; the newest unfinished one by default."
    ),
    *,
    max_calls: int | None = MaxCalls,
    until: str | None = Until,
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Resume a run that did not end. A finished run does not change: its summary and exit code are given.

    Example: `proofsweep resume --until 2h`
    """
    app = open_app(config, results)
    bounds = app.bounds(max_calls=max_calls, until=until)
    request = RunRequest(app=app, config=config, results_url=results, as_json=as_json, bounds=bounds)
    if run_id is None:
        newest = app.run_to_resume()
        run_id = newest.run_id if newest else newest_run(app.results)
        if run_id is None:
            raise ResultsError(f"There is no run in {app.store.url}; begin one with: proofsweep verify CATALOG")
    with request.out.status("checking whether the last leg is active …"):
        settle_last_legs(app.results, app.results.plan(run_id), utc_now)
    if (run := request.run_status(run_id)).is_over:
        return report(run, request)
    print_bounds(request.out, bounds, utc_now())
    with prefect_api() as server:
        return report(_resumed(run_id, request, server), request)


def _unfinished(request: RunRequest, catalog: str, selection: Selection) -> Plan | None:
    """Find the run that goes on first; if it was planned with other options, a person must decide."""
    with request.out.status("looking for an unfinished run …"):
        plan = request.app.run_to_resume(catalog)
    if plan is None:
        return None
    is_elsewhere = resolved_here(plan.catalog) != resolved_here(catalog)
    if is_elsewhere or plan.selection != selection.text:
        rows = f"{plan.selection or 'all rows'}{f' of {plan.catalog}' if is_elsewhere else ''}"
        raise UsageError(
            f"Run {plan.run_id} of this catalog is unfinished, and was planned with other options ({rows}). Go on with "
            f"it: {request.resume(plan.run_id)}. Or give it up: {request.command('stop', '--for-good', plan.run_id)}"
        )
    request.out.line(f"Run {plan.run_id} of this catalog is unfinished and goes on first.")
    return plan


def _verify_in_turn(request: RunRequest, unfinished: Plan | None, plan: Callable[[Bounds], Plan]) -> int:
    """Go on with an unfinished run, if there is one, then plan and verify what is due; give the higher exit code.

    Each run is reported when it ends; with `--json` only the last one, since stdout holds one object.
    """

    def plan_next(bounds: Bounds) -> Plan:
        is_first = stop_told(request.app) if unfinished is None else nullcontext()  # else something was done
        with request.out.status("reading the catalog and asking the service …"), is_first:
            planned = plan(bounds)
        skipped = f", {planned.skipped:,} skipped" if planned.skipped else ""
        rows = f"{counted(planned.items, 'row')}, {planned.eligible:,} to send{skipped}"
        request.out.line(f"Run {planned.run_id}: {rows}")
        for note in unsent_pairs_note(planned.reasons):
            request.out.line(note, style="bold yellow")
        return planned

    code, last = ExitCode.ACCEPTED, None
    with prefect_api() as server:
        try:
            for run_id, bounds in request.app.runs_in_turn(unfinished, plan_next, request.bounds):
                own = replace(request, bounds=bounds)
                is_resumed = unfinished is not None and run_id == unfinished.run_id
                last = (_resumed if is_resumed else _verified)(run_id, own, server)
                code = max(code, code_of_run(last))
                if not request.as_json:
                    report(last, request)
        except NothingDue as nothing:
            print_nothing_due(request.out, nothing, as_json=request.as_json)
            return ExitCode.ACCEPTED
    if request.as_json and last is not None:
        report(last, request)
    return code


def _resumed(run_id: str, request: RunRequest, server: EmbeddedServer | None) -> RunStatus:
    before = request.run_status(run_id)
    rows = f"{before.remaining:,} of {counted(before.plan.items, 'row')} to do"
    request.out.line(f"Run {run_id}: {rows}")
    with request.out.status("asking the service …"), stop_told(request.app):
        request.app.service.awaited(request.bounds.reserve)
    if request.app.has_changed(before.plan):
        request.out.print("The catalog has changed since it was planned; this run follows its plan.")
    return _verified(run_id, request, server)


def _verified(run_id: str, request: RunRequest, server: EmbeddedServer | None) -> RunStatus:
    app, before = request.app, request.run_status(run_id)
    eligible = max(0, min(before.remaining, before.plan.eligible - (before.finished - before.rows("ineligible"))))
    audio_bytes = before.plan.audio_bytes * eligible // max(1, before.plan.eligible)
    print_forecast(request.out, app.forecast(eligible, audio_bytes, app.service.status(), request.bounds))
    run_leg(run_id, request, server)
    return request.run_status(run_id)


@contextmanager
def stop_told(app: App, flow: str = "verify-catalog") -> Iterator[None]:
    try:
        with app.away_is_outage():
            yield
    except RunMustStop as stop:
        state = state_of_ending(stop.ended_by)
        end = app.alerts.end_of_flow(flow, state, stop.message, away=stop.catalog)
        for line in app.tell(end):
            print_error(line)
        raise
