"""`proofsweep verify` and `proofsweep resume`."""

import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

import typer
from rich.console import Console

from cli.bounds import print_bounds
from cli.embedded_server import prefect_api
from cli.exit_codes import ExitCode
from cli.forecast_lines import print_forecast
from cli.key_block import read_block
from cli.options import (
    AllowOutside,
    AsJson,
    Believe,
    Config,
    MaxAge,
    MaxCalls,
    MaxDuration,
    NoDedupe,
    OldestFirst,
    Reserve,
    ResultsUrl,
    Root,
    SinceLast,
    Until,
)
from cli.plan_command import print_cautions
from cli.run_flow import verify_run
from cli.run_request import RunRequest, print_coverage, report
from cli.screen import counted, print_json
from cli.stop_told import stop_told
from proofsweep.bootstrap.engines import engine_for, utc_now
from proofsweep.bootstrap.forecasts import forecast_for
from proofsweep.bootstrap.runs import bounds_for, catalog_has_changed, coverage_for, plan_catalog, settle_dead_leg
from proofsweep.domain.budget.budget import seconds_after_reset
from proofsweep.domain.budget.forecast import Need
from proofsweep.domain.runs import EndedBy, Plan
from proofsweep.errors import NothingDue, ResultsError
from proofsweep.logs import set_up_logs
from proofsweep.reporting.describe_run import newest_run, newest_unfinished
from proofsweep.reporting.run_status import RunStatus
from proofsweep.reporting.summary import unsent_pairs_note
from proofsweep.settings import Settings, load_settings
from proofsweep.storage.locations import path_of
from proofsweep.usecases.plan.due_rows import due_rules


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(verify)
    app.command()(resume)


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
    reserve: int | None = Reserve,
    max_calls: int | None = MaxCalls,
    until: str | None = Until,
    max_duration: str | None = MaxDuration,
    no_dedupe: bool = NoDedupe,
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Verify every audio file of a catalog, and write verdicts, exchanges and runs as Parquet.

    Each row of the catalog ends in one row of `verdicts`. After Ctrl-C, files in flight are finished, finished rows
    are published, and `proofsweep resume` does the rest.

    Example: `proofsweep verify catalog.csv --results /data/proofs --until 06:00`
    """
    settings = load_settings(config, results)
    bounds = bounds_for(settings, reserve=reserve, max_calls=max_calls, until=until, max_duration=max_duration)
    request = RunRequest(
        config=config, results_url=results, as_json=as_json, bounds=bounds, dedupe=False if no_dedupe else None
    )
    due = due_rules(
        utc_now(), since_last=since_last, max_age=max_age, oldest_first=oldest_first, max_calls=bounds.max_calls
    )
    count = partial(coverage_for, settings, catalog, max_age, root=root, allow_outside=allow_outside)
    request = replace(request, coverage=count)
    print_bounds(request.out, bounds, utc_now())
    print_cautions(request.out, settings, path_of(catalog, str(Path.cwd())))
    plan = partial(plan_catalog, settings, catalog, read_block, reserve=bounds.reserve)
    return plan_and_verify(request, settings, partial(plan, root=root, allow_outside=allow_outside, due=due))


def resume(
    run_id: str | None = typer.Argument(
        None, metavar="RUN_ID", help="The run to resume; the newest unfinished one by default."
    ),
    *,
    reserve: int | None = Reserve,
    max_calls: int | None = MaxCalls,
    until: str | None = Until,
    max_duration: str | None = MaxDuration,
    no_dedupe: bool = NoDedupe,
    believe: bool = Believe,
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Resume a run that did not end. A finished run does not change: its summary and exit code are given.

    Example: `proofsweep resume --max-duration 2h`
    """
    set_up_logs()
    settings = load_settings(config, results)
    bounds = bounds_for(settings, reserve=reserve, max_calls=max_calls, until=until, max_duration=max_duration)
    request = RunRequest(
        config=config,
        results_url=results,
        as_json=as_json,
        bounds=bounds,
        dedupe=False if no_dedupe else None,
        believe=believe,
    )
    run_id = run_id or _newest_unfinished(request)
    with _shown(request.out, "checking whether the last leg is active …"):
        settle_dead_leg(settings, run_id)
    before = request.run_status(run_id)
    if before.remaining == 0:
        return report(before, request)
    request.out.print(
        f"Run {run_id}: {before.remaining:,} of {counted(before.plan.items, 'row')} to do", soft_wrap=True
    )
    print_bounds(request.out, bounds, utc_now())
    with prefect_api() as server:
        with _shown(request.out, "asking the service …"), stop_told(settings):
            engine_for(settings, read_block).awaited_service(bounds.reserve)
        wait_after_reset(request.out, before, utc_now(), random.random())  # noqa: S311 - spreads, guards nothing
        if catalog_has_changed(settings, before.plan):
            request.out.print("The catalog has changed since it was planned; this run follows its plan.")
        return verify_run(run_id, _with_forecast(request, settings, _need_of_rest(before)), server)


def plan_and_verify(request: RunRequest, settings: Settings, plan_rows: Callable[[], Plan]) -> int:
    """Plan a run and verify it; without a row that is due there is no run."""
    with prefect_api() as server:
        try:
            with _shown(request.out, "reading the catalog and asking the service …"), stop_told(settings):
                plan = plan_rows()
        except NothingDue as nothing:
            return _report_nothing_due(request, nothing)
        skipped = f", {plan.skipped:,} skipped" if plan.skipped else ""
        line = f"Run {plan.run_id}: {counted(plan.items, 'row')}, {plan.eligible:,} to send{skipped}"
        request.out.print(line, soft_wrap=True)
        for note in unsent_pairs_note(plan.reasons):
            request.out.print(note, style="bold yellow", soft_wrap=True)
        need = Need(eligible=plan.eligible, audio_bytes=plan.audio_bytes)
        return verify_run(plan.run_id, _with_forecast(request, settings, need), server)


def _report_nothing_due(request: RunRequest, nothing: NothingDue) -> int:
    """Say that no row is due: there is no run, and nothing to do."""
    if request.as_json:
        print_json({"items": 0, "skipped": nothing.skipped})
    else:
        request.out.print(nothing.message, soft_wrap=True)
        print_coverage(request)
    return ExitCode.ACCEPTED


def _shown(out: Console, status: str) -> AbstractContextManager[object]:
    """Show on a terminal what takes a while: a service that is down is waited for."""
    return out.status(status) if out.is_terminal else nullcontext()


def wait_after_reset(out: Console, before: RunStatus, now: datetime, chance: float) -> None:
    """After a quota reset, wait for a drawn time, so that not all runs begin together; Ctrl-C begins at once."""
    reset = before.legs[-1].quota_reset if before.legs and before.ended_by == EndedBy.QUOTA else None
    wait_seconds = seconds_after_reset(reset, now, chance)
    if wait_seconds:
        out.print(
            f"The quota was reset just now. Other runs may begin too: waiting {wait_seconds:.1f} s; Ctrl-C begins now."
        )
        with suppress(KeyboardInterrupt):
            time.sleep(wait_seconds)


def _with_forecast(request: RunRequest, settings: Settings, need: Need) -> RunRequest:
    """Print a forecast before the leg begins, and keep it for the JSON summary."""
    status = engine_for(settings, read_block).service()
    cost = forecast_for(settings, need, status, request.bounds)
    print_forecast(request.out, cost, utc_now(), key_expires_at=settings.service.key_expires_at)
    return replace(request, forecast=cost)


def _need_of_rest(run: RunStatus) -> Need:
    """Estimate what remains to send of a run."""
    sent = run.finished - run.rows("ineligible")
    eligible = max(0, min(run.remaining, run.plan.eligible - sent))
    return Need(eligible=eligible, audio_bytes=run.plan.audio_bytes * eligible // max(1, run.plan.eligible))


def _newest_unfinished(request: RunRequest) -> str:
    """Give the newest unfinished run; if all are finished, the newest."""
    run_id = newest_unfinished(request.results) or newest_run(request.results)
    if run_id is None:
        raise ResultsError(f"There is no run in {request.results.store.url}; begin one with: proofsweep verify CATALOG")
    return run_id
