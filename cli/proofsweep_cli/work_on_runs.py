"""Work on planned runs and show it: plan, forecast, verify, and go on with what is unfinished."""

import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime

from rich.console import Console

from proofsweep.config.load import Settings
from proofsweep.domain.errors import NothingDue
from proofsweep.domain.runs import Bounds, Plan
from proofsweep.queries.status import RunStatus
from proofsweep.reports.run import unsent_pairs_note
from proofsweep.verify.forecast import Need
from proofsweep.wiring.catalogs import catalog_has_changed
from proofsweep.wiring.engines import engine_for, utc_now
from proofsweep.wiring.runs import forecast_for, runs_in_turn
from proofsweep_cli.embedded_server import EmbeddedServer, prefect_api
from proofsweep_cli.exit_codes import ExitCode, code_of_run
from proofsweep_cli.forecast_lines import print_forecast
from proofsweep_cli.key_block import read_block
from proofsweep_cli.run_flow import run_leg
from proofsweep_cli.run_request import RunRequest, print_coverage, report
from proofsweep_cli.screen import counted, print_nothing_due
from proofsweep_cli.stop_told import stop_told


def plan_and_verify(request: RunRequest, settings: Settings, plan_rows: Callable[[], Plan]) -> int:
    """Plan a run and verify it; without a row that is due there is no run."""
    return verify_catalog(request, settings, None, None, lambda _: plan_rows())


def go_on(run_id: str, request: RunRequest, settings: Settings) -> int:
    """Resume a run."""
    with prefect_api() as server:
        return report(*_resumed(run_id, request, settings, server))


def verify_catalog(
    request: RunRequest,
    settings: Settings,
    catalog: str | None,
    unfinished: Plan | None,
    plan: Callable[[Bounds], Plan],
) -> int:
    """Go on with an unfinished run, if there is one, then plan and verify what is due; give the higher exit code."""

    def plan_next(bounds: Bounds) -> Plan:
        is_first = stop_told(settings, catalog) if unfinished is None else nullcontext()  # else something was done
        with shown(request.out, "reading the catalog and asking the service …"), is_first:
            planned = plan(bounds)
        _print_planned(request.out, planned)
        return planned

    resumed: RunStatus | None = None
    with prefect_api() as server:
        try:
            for run_id, bounds in runs_in_turn(settings, unfinished, plan_next, request.bounds):
                is_resumed = unfinished is not None and run_id == unfinished.run_id
                own = replace(request, bounds=bounds, resumed=resumed)
                run, request = (_resumed if is_resumed else _verified)(run_id, own, settings, server)
                resumed = run if is_resumed else resumed
                if is_resumed and not request.as_json:
                    report(run, replace(request, coverage=lambda: None))
        except NothingDue as nothing:
            print_nothing_due(request.out, nothing, as_json=request.as_json)
            if not request.as_json:
                print_coverage(request)
            return ExitCode.ACCEPTED
        if run is resumed and not request.as_json:
            print_coverage(request)
            return code_of_run(run)
        return report(run, request)


def _print_planned(out: Console, plan: Plan) -> None:
    skipped = f", {plan.skipped:,} skipped" if plan.skipped else ""
    out.print(f"Run {plan.run_id}: {counted(plan.items, 'row')}, {plan.eligible:,} to send{skipped}", soft_wrap=True)
    for note in unsent_pairs_note(plan.reasons):
        out.print(note, style="bold yellow", soft_wrap=True)


def _resumed(
    run_id: str, request: RunRequest, settings: Settings, server: EmbeddedServer | None
) -> tuple[RunStatus, RunRequest]:
    before = request.run_status(run_id)
    rows = f"{before.remaining:,} of {counted(before.plan.items, 'row')} to do"
    request.out.print(f"Run {run_id}: {rows}", soft_wrap=True)
    with shown(request.out, "asking the service …"), stop_told(settings, before.plan.catalog):
        engine_for(settings, read_block).awaited_service(request.bounds.reserve)
    wait_after_reset(request.out, before, utc_now(), random.random())  # noqa: S311 - spreads, guards nothing
    if catalog_has_changed(settings, before.plan):
        request.out.print("The catalog has changed since it was planned; this run follows its plan.")
    return _verified(run_id, request, settings, server)


def _verified(
    run_id: str, request: RunRequest, settings: Settings, server: EmbeddedServer | None
) -> tuple[RunStatus, RunRequest]:
    request = _with_forecast(request, settings, _need_of_rest(request.run_status(run_id)))
    run_leg(run_id, request, server)
    return request.run_status(run_id), request


def shown(out: Console, status: str) -> AbstractContextManager[object]:
    """Show on a terminal what takes a while: a service that is down is waited for."""
    return out.status(status) if out.is_terminal else nullcontext()


def wait_after_reset(out: Console, before: RunStatus, now: datetime, chance: float) -> None:
    """After a quota reset, wait for a drawn time, so that not all runs begin together; Ctrl-C begins at once."""
    wait_seconds = before.seconds_after_reset(now, chance)
    if wait_seconds:
        out.print(
            f"The quota was reset just now. Other runs may begin too: waiting {wait_seconds:.1f} s; Ctrl-C begins now."
        )
        with suppress(KeyboardInterrupt):
            time.sleep(wait_seconds)


def _with_forecast(request: RunRequest, settings: Settings, need: Need) -> RunRequest:
    status = engine_for(settings, read_block).service()
    cost = forecast_for(settings, need, status, request.bounds, read_block)
    print_forecast(request.out, cost, utc_now(), key_expires_at=settings.service.key_expires_at)
    return replace(request, forecast=cost)


def _need_of_rest(run: RunStatus) -> Need:
    sent = run.finished - run.rows("ineligible")
    eligible = max(0, min(run.remaining, run.plan.eligible - sent))
    return Need(eligible=eligible, audio_bytes=run.plan.audio_bytes * eligible // max(1, run.plan.eligible))
