"""`proofsweep runs` and `proofsweep status`: show runs and what remains of them."""

import typer
from rich.console import Console
from rich.table import Table

from cli.exit_codes import ExitCode
from cli.options import AsJson, Config, OfCatalog, ResultsUrl, Run
from cli.run_request import RunRequest, report
from cli.screen import COLOURS, console, counted, print_error, print_json, styled
from proofsweep.answers.describe_run import active_holder, describe_run, newest_runs, state_of
from proofsweep.answers.run_status import RunStatus
from proofsweep.answers.summary import json_of
from proofsweep.settings import load_settings
from proofsweep.wiring.stores import meant_run, results_for

# A narrower terminal folds the table into columns of a few letters.
_TABLE_COLUMNS = 150


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(runs)
    app.command()(status)


def runs(
    limit: int = typer.Option(20, "--limit", "-n", min=1, help="Show at most this many runs, the newest first."),
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """List the runs of a results store, the newest first.

    Example: `proofsweep runs --limit 5 --json`
    """
    store = results_for(load_settings(config, results))
    newest = newest_runs(store, limit)
    if as_json:
        print_json({"runs": [_json_of_run(run, store.store.url) for run in newest], "results": store.store.url})
    elif newest:
        _print_runs(console(), [(run, state_of(store, run)) for run in newest])
    else:
        console().print(f"There is no run in {store.store.url}.", soft_wrap=True)
    return ExitCode.ACCEPTED


def status(
    run_id: str | None = Run,
    *,
    catalog: str | None = OfCatalog,
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Show a run: the summary that `verify` printed, and its legs.

    The exit code is that of the run; 9 while a leg is active.

    Example: `proofsweep status 20261120T091500Z_8c1f04`
    """
    request = RunRequest(config=config, results_url=results, as_json=as_json)
    meant = meant_run(load_settings(config, results), run_id, catalog)
    if meant.note is not None:
        print_error(meant.note)
    store, run_id = meant.results, meant.plan.run_id
    holder = active_holder(store, run_id)
    run = describe_run(store, run_id)
    code = report(run, request)
    if not as_json:
        _print_legs(request.out, run)
    if holder is None:
        return code
    request.out.print(f"A leg is active: process {holder.pid} on {holder.host} works on this run.", style="bold")
    return ExitCode.ACTIVE


def _json_of_run(run: RunStatus, url: str) -> dict[str, object]:
    """Return a run as `status --json` does, without the lists of groups and the latest leg."""
    whole = json_of(run, url)
    facts = {"created_at": run.plan.created_at, "catalog": run.plan.catalog, "environment": run.plan.environment}
    return facts | {name: cell for name, cell in whole.items() if name not in {"groups", "this_leg", "results"}}


def _print_runs(out: Console, newest: list[tuple[RunStatus, str]]) -> None:
    """Print a table; on a terminal that is too narrow for it, three lines for each run."""
    if out.width >= _TABLE_COLUMNS:
        out.print(_table(newest))
        return
    for run, state in newest:
        plan = run.plan
        out.print(styled(plan.run_id, "bold"), f"{_began(run)} UTC", soft_wrap=True)
        rows = f"{run.remaining:,} of {counted(plan.items, 'row')} remain, {_calls(run)} calls"
        out.print(f"  {state}: {_outcomes(run) or 'no row yet'}; {rows}", soft_wrap=True)
        out.print(f"  {plan.environment}, {plan.catalog}", soft_wrap=True)


def _began(run: RunStatus) -> str:
    return run.plan.created_at[:16].replace("T", " ")


def _outcomes(run: RunStatus) -> str:
    return ", ".join(f"{run.rows(word):,} {word}" for word in COLOURS if run.rows(word))


def _table(newest: list[tuple[RunStatus, str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("run", no_wrap=True)
    table.add_column("began (UTC)", no_wrap=True)
    for name in ("rows", "remaining", "calls"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("ended by", "outcomes", "environment", "catalog"):
        table.add_column(name, overflow="fold")
    for run, state in newest:
        plan = run.plan
        counts = (f"{plan.items:,}", f"{run.remaining:,}", _calls(run))
        cells = (state, _outcomes(run), plan.environment, plan.catalog)
        table.add_row(plan.run_id, _began(run), *counts, *cells)
    return table


def _calls(run: RunStatus) -> str:
    """Write the calls; `+ ?` says that a killed leg made some that it could not write down."""
    return f"{run.total('calls'):,}" + (" + ?" if run.calls_unrecorded is None else "")


def _print_legs(out: Console, run: RunStatus) -> None:
    for leg in run.legs:
        if not leg.counts:
            state = "killed; its rows are counted when the run is resumed" if leg.ended_by else "active"
            out.print(f"  leg {leg.leg}: {state}", soft_wrap=True)
            continue
        began = str(leg.counts.get("started_at") or "")[:19]
        rows = sum(leg.count(word) or 0 for word in COLOURS)
        calls = counted(leg.count("calls") or 0, "call")
        ended = f" {counted(rows, 'row')}, {calls}, ended by {leg.ended_by}"
        rate = leg.counts.get("rate_learned")
        lane = f", the service allows {rate:,.1f} calls/s" if isinstance(rate, float) else ""
        out.print(f"  leg {leg.leg}: {began}{ended}{lane}", soft_wrap=True)
