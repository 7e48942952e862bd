"""`proofsweep verify` and `proofsweep resume`."""

import random
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime

import typer
from rich.console import Console

from cli.bounds import print_bounds
from cli.embedded_server import prefect_api
from cli.forecast_lines import print_forecast
from cli.key_block import read_block
from cli.options import AsJson, Config, MaxCalls, MaxDuration, NoDedupe, Reserve, ResultsUrl, Until
from cli.run_flow import Asked, report, verify_run
from cli.screen import counted
from proofsweep.bootstrap.engines import engine_for, utc_now
from proofsweep.bootstrap.forecasts import forecast_for
from proofsweep.bootstrap.runs import bounds_for, catalog_has_changed, plan_catalog, settle_dead_leg
from proofsweep.domain.budget.budget import seconds_after_reset
from proofsweep.domain.budget.forecast import Need
from proofsweep.domain.runs import EndedBy
from proofsweep.errors import ResultsError
from proofsweep.logs import set_up_logs
from proofsweep.reporting.describe_run import newest_unfinished
from proofsweep.reporting.run_status import RunStatus
from proofsweep.settings import Settings, load_settings


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(verify)
    app.command()(resume)


def verify(
    catalog: str = typer.Argument(
        metavar="CATALOG", help="A manifest (.csv .jsonl .parquet, also .gz), a glob of manifests, or a folder."
    ),
    *,
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

    Each row of the catalog ends in one row of `verdicts`. Ctrl-C ends in good order: what is in hand is finished, what
    is finished is published, and `proofsweep resume` does the rest.
    """
    settings = load_settings(config, results)
    bounds = bounds_for(settings, reserve=reserve, max_calls=max_calls, until=until, max_duration=max_duration)
    asked = Asked(
        config=config, results_url=results, as_json=as_json, bounds=bounds, dedupe=False if no_dedupe else None
    )
    print_bounds(asked.out, bounds, utc_now())
    with prefect_api() as server:
        plan = plan_catalog(settings, catalog, read_block, reserve=bounds.reserve)
        asked.out.print(f"Run {plan.run_id}: {counted(plan.items, 'row')}, {plan.eligible:,} to send", soft_wrap=True)
        need = Need(eligible=plan.eligible, audio_bytes=plan.audio_bytes)
        return verify_run(plan.run_id, _with_forecast(asked, settings, need), server)


def resume(
    run_id: str | None = typer.Argument(
        None, metavar="RUN_ID", help="The run to go on with; the newest unfinished one by default."
    ),
    *,
    reserve: int | None = Reserve,
    max_calls: int | None = MaxCalls,
    until: str | None = Until,
    max_duration: str | None = MaxDuration,
    no_dedupe: bool = NoDedupe,
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Go on with a run that did not end. A finished one is not touched: its summary and exit code are given."""
    set_up_logs()
    settings = load_settings(config, results)
    bounds = bounds_for(settings, reserve=reserve, max_calls=max_calls, until=until, max_duration=max_duration)
    asked = Asked(
        config=config, results_url=results, as_json=as_json, bounds=bounds, dedupe=False if no_dedupe else None
    )
    run_id = run_id or _newest_unfinished(asked)
    with (
        asked.out.status("looking whether the last leg is still at work …") if asked.out.is_terminal else nullcontext()
    ):
        settle_dead_leg(settings, run_id)
    before = asked.run_status(run_id)
    if before.remaining == 0:
        return report(run_id, asked)
    asked.out.print(f"Run {run_id}: {before.remaining:,} of {counted(before.plan.items, 'row')} to do", soft_wrap=True)
    print_bounds(asked.out, bounds, utc_now())
    with prefect_api() as server:
        engine_for(settings, read_block).usable_service(bounds.reserve)
        wait_after_reset(asked.out, before, utc_now(), random.random())  # noqa: S311 - spreads, guards nothing
        if catalog_has_changed(settings, before.plan):
            asked.out.print("The catalog has changed since it was planned; the plan is what is verified.")
        return verify_run(run_id, _with_forecast(asked, settings, _need_of_rest(before)), server)


def wait_after_reset(out: Console, before: RunStatus, now: datetime, chance: float) -> None:
    """Let a quota that has just begun anew be met by one run after the other: wait a moment; Ctrl-C begins at once."""
    reset = before.legs[-1].quota_reset if before.legs and before.ended_by == EndedBy.QUOTA else None
    wait_seconds = seconds_after_reset(reset, now, chance)
    if wait_seconds:
        out.print(f"The quota has just begun anew: waits {wait_seconds:.1f} s, as others may too; Ctrl-C begins now.")
        with suppress(KeyboardInterrupt):
            time.sleep(wait_seconds)


def _with_forecast(asked: Asked, settings: Settings, need: Need) -> Asked:
    """Say what the leg will take before it begins, and keep it for the summary's object."""
    seen = engine_for(settings, read_block).service()
    cost = forecast_for(settings, need, seen, asked.bounds)
    print_forecast(asked.out, cost, key_expires_at=settings.service.key_expires_at)
    return replace(asked, forecast=cost)


def _need_of_rest(run: RunStatus) -> Need:
    """Estimate what is left to send of a run that was begun."""
    sent = run.finished - run.rows("ineligible")
    eligible = max(0, min(run.remaining, run.plan.eligible - sent))
    return Need(eligible=eligible, audio_bytes=run.plan.audio_bytes * eligible // max(1, run.plan.eligible))


def _newest_unfinished(asked: Asked) -> str:
    """Name the run to go on with; where all are finished, the newest, whose exit code is then given."""
    run_ids = asked.results.run_ids()
    if not run_ids:
        raise ResultsError(f"There is no run in {asked.results.store.url}; begin one with: proofsweep verify CATALOG")
    return newest_unfinished(asked.results) or run_ids[-1]
