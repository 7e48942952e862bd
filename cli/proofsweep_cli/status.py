"""`proofsweep status` and `proofsweep stop`: how all stands, or a run; and a run's end."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from proofsweep.domain.errors import RunIsActive, UsageError
from proofsweep.domain.runs import INGEST
from proofsweep.domain.text import counted, minute_of, printable, remaining_words
from proofsweep.queries.status import (
    RunStatus,
    StopReport,
    describe_run,
    heartbeats_of,
    legs_of_store,
    only_active_run,
    stop_run,
    words_on_no_run,
)
from proofsweep.reports.run import json_of, sunset_note
from proofsweep_cli.command import CommandRequest, with_request
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.run_screen import active_lines, followed, report, where_line
from proofsweep_cli.screen import PURPLE, Screen, console, print_json, styled

if TYPE_CHECKING:
    from proofsweep.queries.store_status import CatalogStatus, QuotaStatus


_WAIT_SECONDS = 60.0  # a leg sees the request within some seconds, gives files in flight `drain_seconds`, and settles


@with_request()
def status(
    request: CommandRequest,
    run_id: str | None = typer.Argument(
        None, metavar="[RUN]", help="A run; without one, how all catalogs of the store stand."
    ),
    *,
    follow: bool = typer.Option(
        False,
        "--follow",
        "-f",
        help="Show each heartbeat of the active leg until it ends; without RUN, of the active run.",
    ),
) -> int:
    """Without RUN it asks only the results store; the exit code is 0. With RUN it prints the summary of `verify`, and
    its legs; the exit code is that of the run, 9 while a leg is active. --follow shows each heartbeat, on any machine
    that reaches the results store, until the leg ends; Ctrl-C ends only the following.

    Examples: `proofsweep status` · `proofsweep status 20261120T091500Z_8c1f04` · `proofsweep status --follow`
    """
    app = request.app
    if run_id is None and not follow:
        _show_store(request)
        return ExitCode.ACCEPTED
    run_id = run_id or only_active_run(app.results, app.environment)
    if run_id is None:
        raise UsageError(f"No run is active in {app.store.url}: there is nothing to follow.")
    return _show_run(request, run_id, follow=follow)


@with_request()
def stop(
    request: CommandRequest,
    run_id: str | None = typer.Argument(None, metavar="[RUN]", help="A run; without one, the only run that is active."),
    *,
    for_good: bool = typer.Option(
        False, "--for-good", help="Give RUN up, also one that no process works on: nothing goes on with what remains."
    ),
    retired: str | None = typer.Option(
        None,
        "--retire",
        metavar="CATALOG",
        help="Let a catalog count no more, by its location or name: not in rejects, status, coverage or a page. Its "
        "rows stay, and a later run of it counts again.",
    ),
) -> int:
    """Files in flight are finished, finished rows are kept, and `resume` does the rest. The exit code is 0 if the leg
    has ended, had before, or shows no sign of life, and 9 if it is still stopping after a minute.

    Examples: `proofsweep stop` · `proofsweep stop 20261120T091500Z_8c1f04 --for-good`
    """
    store = request.app.results
    if retired is not None:
        if for_good or run_id is not None:
            raise UsageError("--retire is of a catalog: leave out RUN and --for-good.")
        return _retire(request, retired)
    if for_good and run_id is None:
        raise UsageError("--for-good needs RUN.")
    run_id = run_id or only_active_run(store, request.app.environment)
    if run_id is None:
        raise UsageError(f"No run is active in {store.store.url}: there is nothing to stop.")
    if for_good and store.plan(run_id).catalog_kind == INGEST:
        raise UsageError(f"Run {run_id} is of a watched folder, whose next pass goes on with it: leave out --for-good.")
    stopped = stop_run(store, run_id, _WAIT_SECONDS)
    if for_good and (stopped.has_ended or stopped.is_silent) and not stopped.run.is_over:
        from proofsweep.verify.attempt import supersede  # noqa: PLC0415 - it brings what works on a run

        supersede(store, stopped.run.plan, lambda: datetime.now(UTC), is_given_up=True)
        stopped = replace(stopped, run=describe_run(store, run_id), has_ended=True)
    facts = {"asked": bool(stopped.legs), "ended": stopped.has_ended}
    document = json_of(stopped.run, store.store.url) | {"stop": facts}
    request.answer(document, _lines_of_stop(stopped, request))
    return ExitCode.ACCEPTED if stopped.has_ended or stopped.is_silent else ExitCode.ACTIVE


def _retire(request: CommandRequest, catalog: str) -> int:
    """Retire a catalog; a process that works on it is asked first, by a person."""
    app = request.app
    runs = app.results.log.runs()
    own = {plan.run_id for plan in runs.plans(app.environment, catalog)}
    for leg in legs_of_store(app.results, runs):
        if leg.run_id in own and leg.is_alive:
            raise RunIsActive(f"{where_line(leg)}; stop it first: {request.command('stop', leg.run_id)}")
    plans = app.results.log.retire(app.environment, catalog, datetime.now(UTC))
    counts = f"with {counted(len(plans), 'run')}, and counts no more; its rows stay"
    facts = {"catalog": plans[0].catalog, "environment": app.environment, "runs": [plan.run_id for plan in plans]}
    request.answer({"retired": facts}, [f"{plans[0].catalog} is retired ({app.environment}) {counts}"])
    return ExitCode.ACCEPTED


def _show_run(request: CommandRequest, run_id: str, *, follow: bool) -> int:
    store = request.app.results
    run = describe_run(store, run_id)
    if follow and not all(leg.is_gone for leg in run.open_legs):
        if not followed(request.out, heartbeats_of(store, run)):
            return ExitCode.ACTIVE
        run = describe_run(store, run_id)
    code = report(request, run)
    if not request.as_json:
        _print_legs(request.out, run)
    return ExitCode.ACTIVE if run.active else code


def _show_store(request: CommandRequest) -> None:
    from proofsweep.queries.store_status import store_status  # noqa: PLC0415 - it brings DuckDB

    store = request.app.results
    found, out = store_status(store, datetime.now(UTC)), console()
    if request.as_json:
        print_json(found.document() | {"results": store.store.url})
        return
    if not (found.catalogs or found.retired):
        out.line(words_on_no_run(store))
        return
    for catalog in found.catalogs:
        _print_catalog(request, out, catalog)
    for each in found.retired:
        files = f"{counted(each.files, 'file')} that no other list has" if each.files else "other lists have its files"
        out.line(f"retired: {each.catalog} ({each.environment}); {files}", style="dim")
    for plan, leg in found.active:
        out.print()
        out.line(styled(f"Run {plan.run_id}", "bold"), f"— {plan.catalog}")
        for line in active_lines(leg.progress, [leg]):
            out.line("  ", line, sep="")
    out.print()
    for quota in found.quotas:
        of = f" of {quota.environment}" if len(found.quotas) > 1 else ""
        out.line(f"quota{of}: {_quota(quota, found.at)}")
        if quota.sunset is not None:
            out.line(sunset_note(printable(quota.sunset)), style=f"bold {PURPLE}")


def _print_legs(out: Screen, run: RunStatus) -> None:
    where = {leg.leg: f"; {where_line(leg)}" for leg in run.open_legs}
    for leg in run.legs:
        if leg.leg in {active.leg for active in run.active}:
            continue
        began = f"{leg.started_at:%Y-%m-%d %H:%M:%S} UTC, {counted(leg.rows, 'row')}, " if leg.started_at else ""
        calls = counted(leg.count("calls"), "call")
        rate = leg.counts.get("rate_learned")
        lane = f", the service allows {rate:,.1f} calls/s" if isinstance(rate, float) else ""
        out.line(f"  leg {leg.leg}: {began}{calls}, ended by {leg.ended_by}{lane}{where.get(leg.leg, '')}")


def _print_catalog(request: CommandRequest, out: Screen, each: "CatalogStatus") -> None:
    out.line(styled(each.catalog, "bold"), f"({each.environment})")
    # Rows of a run that is not over are the number that alerts tell; a second one of files would be taken for it.
    left_out = {"files", "remaining"} if each.run_remaining else {"files"}
    if each.counts:
        counts = [f"{count:,} {name}" for name, count in each.counts.items() if count and name not in left_out]
        out.line(f"  {', '.join([counted(each.counts['files'], 'file'), *counts])}")
    out.line(f"  last run: {each.last_run}, {each.ended_by}, {minute_of(each.last_at)}")
    if each.run_remaining:
        rows = f"  {remaining_words(each.run_remaining, each.run_items)}:"
        out.line(rows, command=request.command("resume", each.last_run), style="bold")


def _quota(quota: "QuotaStatus", now: datetime) -> str:
    left, reset = f"{quota.left:,} calls left at {minute_of(quota.as_of)}", quota.resets_at
    if reset is None:
        return left
    return f"{left}; it {'has reset since, at' if reset <= now else 'resets'} {minute_of(reset)}"


def _lines_of_stop(stopped: StopReport, request: CommandRequest) -> Iterator[str | tuple[str, str]]:
    run, legs = stopped.run, stopped.legs
    run_id = run.plan.run_id
    rest = f"{remaining_words(run.remaining, run.plan.items)}:"
    resume = request.command("resume", run_id)
    if not legs and run.open_legs:
        yield f"Nothing to stop: {where_line(run.open_legs[0])}. Its finished rows are kept:", resume
    elif not legs or stopped.has_ended:
        said = f"Nothing to stop: no process works on run {run_id} ({run.state})."
        if legs:
            said = f"Run {run_id}: leg {' and '.join(str(leg.leg) for leg in legs)} has ended ({run.state})."
        yield said if run.is_over else (f"{said} {rest}", resume)
    elif stopped.is_silent:
        yield f"Run {run_id}: {where_line(legs[0])}, as if it were dead. Go on:", resume
        yield "Or give it up:", request.command("stop", run_id, for_good=True)
    else:
        follow = request.command("status", run_id, follow=True)
        yield f"Run {run_id}: {where_line(legs[0])}; it was asked to stop. See:", follow
