"""`proofsweep status`: how all stands on one screen, a run, or the list of runs."""

from contextlib import suppress
from datetime import UTC, datetime

import typer
from rich.console import Console
from rich.table import Table

from proofsweep.config.load import Settings, load_settings
from proofsweep.domain.errors import UsageError
from proofsweep.queries.status import (
    RunStatus,
    describe_run,
    heartbeats_of,
    newest_runs,
    next_leg,
    only_active_run,
)
from proofsweep.reports.run import ending_of, json_of
from proofsweep.wiring.stores import meant_run, results_for
from proofsweep_cli.active_leg import active_leg_lines, followed, short_line, where_line
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import AsJson, Config, ResultsUrl
from proofsweep_cli.run_request import RunRequest, report
from proofsweep_cli.screen import COLOURS, console, counted, print_error, print_json, styled
from proofsweep_cli.store_screen import print_store

_TABLE_COLUMNS = 150  # a narrower terminal folds the table into columns of a few letters

_Run = typer.Argument(None, metavar="[RUN]", help="A run; without one, how all catalogs of the store stand.")
_Catalog = typer.Option(
    None,
    "--catalog",
    metavar="CATALOG",
    help="The newest whole run of this catalog, by its location or its `catalog.name`.",
)
_Runs = typer.Option(False, "--runs", help="List the runs, the newest first.")
_Limit = typer.Option(20, "--limit", "-n", min=1, help="With --runs: show at most this many.")
_Follow = typer.Option(
    False, "--follow", "-f", help="Show each heartbeat of the active leg until it ends; without RUN, of the active run."
)


def status(
    run_id: str | None = _Run,
    *,
    catalog: str | None = _Catalog,
    runs: bool = _Runs,
    limit: int = _Limit,
    results: str | None = ResultsUrl,
    config: str | None = Config,
    follow: bool = _Follow,
    as_json: bool = AsJson,
) -> int:
    """Show how all catalogs stand, the active runs, and what is left of the quota; or one run, or all runs.

    Without RUN it asks only the results store; the exit code is 0. With RUN it prints the summary of `verify`, and its
    legs; the exit code is that of the run, 9 while a leg is active. --follow shows each heartbeat, on any machine that
    reaches the results store, until the leg ends; Ctrl-C ends only the following.

    Examples: `proofsweep status` · `proofsweep status --runs --limit 5 --json` · `proofsweep status --follow`
    """
    if runs and (run_id is not None or catalog is not None or follow):
        raise UsageError("--runs lists all runs: leave out RUN, --catalog and --follow.")
    if run_id is None and catalog is None and not follow:
        settings = load_settings(config, results)
        if runs:
            _show_runs(settings, limit, as_json=as_json)
        else:
            _show_store(settings, as_json=as_json)
        return ExitCode.ACCEPTED
    request, settings = RunRequest(config=config, results_url=results, as_json=as_json), load_settings(config, results)
    if follow and run_id is None and catalog is None:
        run_id = only_active_run(results_for(settings))
    plan, note = meant_run(settings, run_id, catalog)
    if note is not None:
        print_error(note)
    return _show_run(request, plan.run_id, follow=follow)


def _show_run(request: RunRequest, run_id: str, *, follow: bool) -> int:
    store = results_for(request.settings)
    run = describe_run(store, run_id)
    if follow and not run.is_over and (run.open_leg is None or run.open_leg.is_gone):
        print_error(
            "No process works on this run now. Waiting up to a minute for one that starts; Ctrl-C ends the waiting."
        )
        with suppress(KeyboardInterrupt):
            next_leg(store, run_id)
        run = describe_run(store, run_id)
    if follow and run.open_leg is not None and not run.open_leg.is_gone:
        if not followed(request.out, heartbeats_of(store, run.open_leg)):
            return ExitCode.ACTIVE
        run = describe_run(store, run_id)
    if run.active is not None and not request.as_json:
        _print_active(request, run)
        return ExitCode.ACTIVE
    code = report(run, request)
    if not request.as_json:
        _print_legs(request.out, run)
    return code if run.active is None else ExitCode.ACTIVE


def _print_active(request: RunRequest, run: RunStatus) -> None:
    out = request.out
    out.print()
    out.print(styled(f"Run {run.plan.run_id}", "bold"), f"— {ending_of(run)}")
    out.print()
    for line in () if run.active is None else active_leg_lines(run.active):
        out.print("  ", line, sep="", soft_wrap=True)
    _print_legs(out, run)
    for verb in ("status --follow", "stop"):
        out.print(f"  {verb.split()[-1].strip('-')}: {request.command(*verb.split(), run.plan.run_id)}", soft_wrap=True)


def _show_store(settings: Settings, *, as_json: bool) -> None:
    from proofsweep.queries.store_status import store_status  # noqa: PLC0415 - it brings DuckDB

    store = results_for(settings)
    found = store_status(store, datetime.now(UTC))
    if as_json:
        print_json(found.document() | {"results": store.store.url})
    else:
        print_store(console(), found, store.store.url)


def _show_runs(settings: Settings, limit: int, *, as_json: bool) -> None:
    store = results_for(settings)
    newest = newest_runs(store, limit)
    if as_json:
        print_json({"runs": [_json_of_run(run, store.store.url) for run in newest], "results": store.store.url})
    elif newest:
        _print_runs(console(), newest)
    else:
        console().print(f"There is no run in {store.store.url}.", soft_wrap=True)


def _json_of_run(run: RunStatus, url: str) -> dict[str, object]:
    whole = json_of(run, url)
    facts = {"created_at": run.plan.created_at, "catalog": run.plan.catalog, "environment": run.plan.environment}
    return facts | {name: cell for name, cell in whole.items() if name not in {"groups", "this_leg", "results"}}


def _print_runs(out: Console, newest: list[RunStatus]) -> None:
    if out.width >= _TABLE_COLUMNS:
        out.print(_table(newest))
        return
    for run in newest:
        plan = run.plan
        out.print(styled(plan.run_id, "bold"), f"{_began(run)} UTC", soft_wrap=True)
        rows = f"{run.remaining_now:,} of {counted(plan.items, 'row')} remain, {_calls(run)} calls"
        out.print(f"  {_state(run)}: {_outcomes(run) or 'no row yet'}; {rows}", soft_wrap=True)
        out.print(f"  {plan.environment}, {plan.catalog}", soft_wrap=True)


def _began(run: RunStatus) -> str:
    return run.plan.created_at[:16].replace("T", " ")


def _state(run: RunStatus) -> str:
    return run.state if run.active is None else f"active {short_line(run.active)}"


def _outcomes(run: RunStatus) -> str:
    return ", ".join(f"{rows:,} {word}" for word in COLOURS if (rows := run.rows_now(word)))


def _table(newest: list[RunStatus]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("run", no_wrap=True)
    table.add_column("began (UTC)", no_wrap=True)
    for name in ("rows", "remaining", "calls"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("ended by", "outcomes", "environment", "catalog"):
        table.add_column(name, overflow="fold")
    for run in newest:
        plan = run.plan
        counts = (f"{plan.items:,}", f"{run.remaining_now:,}", _calls(run))
        cells = (_state(run), _outcomes(run), plan.environment, plan.catalog)
        table.add_row(plan.run_id, _began(run), *counts, *cells)
    return table


def _calls(run: RunStatus) -> str:
    """Write the calls, those of the active leg as it told them; `+ ?`: a killed leg could not write some down."""
    told = None if run.active is None else run.active.progress
    is_known = told is not None or run.calls_unrecorded is not None
    return f"{run.total('calls') + (told.calls if told else 0):,}" + ("" if is_known else " + ?")


def _print_legs(out: Console, run: RunStatus) -> None:
    for leg in run.legs:
        if run.active is not None and leg.leg == run.active.leg:
            continue
        if not leg.counts:
            last = "" if run.open_leg is None or run.open_leg.leg != leg.leg else f" ({where_line(run.open_leg)})"
            out.print(f"  leg {leg.leg}: killed; its rows are counted when the run is resumed{last}", soft_wrap=True)
            continue
        began = str(leg.counts.get("started_at") or "")[:19]
        rows = sum(leg.count(word) or 0 for word in COLOURS)
        calls = counted(leg.count("calls") or 0, "call")
        ended = f" {counted(rows, 'row')}, {calls}, ended by {leg.ended_by}"
        rate = leg.counts.get("rate_learned")
        lane = f", the service allows {rate:,.1f} calls/s" if isinstance(rate, float) else ""
        out.print(f"  leg {leg.leg}: {began}{ended}{lane}", soft_wrap=True)
