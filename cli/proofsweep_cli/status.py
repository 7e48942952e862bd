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
    from proofsweep.queries.store_status import CatalogStatus, QuotaStatus, StoreStatus
    from proofsweep.store.parts import Results


# A leg sees the request within some seconds, gives files in flight `drain_seconds`, and settles.
_WAIT_SECONDS = 60.0


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
    if for_good:
        stopped = _given_up(store, stopped)
    stop_facts = {"asked": bool(stopped.legs), "ended": stopped.has_ended}
    document = json_of(stopped.run, store.store.url)
    document["stop"] = stop_facts
    request.answer(document, _lines_of_stop(stopped, request))
    if stopped.has_ended or stopped.is_silent:
        return ExitCode.ACCEPTED
    return ExitCode.ACTIVE


def _given_up(store: "Results", stopped: StopReport) -> StopReport:
    """Give a run up, unless it is over, or a process still works on it."""
    is_idle = stopped.has_ended or stopped.is_silent
    if stopped.run.is_over or not is_idle:
        return stopped
    from proofsweep.verify.attempt import supersede  # noqa: PLC0415 - it brings what works on a run

    plan = stopped.run.plan
    supersede(store, plan, lambda: datetime.now(UTC), is_given_up=True)
    run = describe_run(store, plan.run_id)
    return replace(stopped, run=run, has_ended=True)


def _retire(request: CommandRequest, catalog: str) -> int:
    """Retire a catalog; a process that works on it is asked first, by a person."""
    app = request.app
    runs = app.results.log.runs()
    run_ids = {plan.run_id for plan in runs.plans(app.environment, catalog)}
    for leg in legs_of_store(app.results, runs):
        if leg.run_id in run_ids and leg.is_alive:
            stop = request.command("stop", leg.run_id)
            raise RunIsActive(f"{where_line(leg)}; stop it first: {stop}")
    plans = app.results.log.retire(app.environment, catalog, datetime.now(UTC))
    # It may be given by its name: its location says which one that is.
    location = plans[0].catalog
    count = counted(len(plans), "run")
    line = f"{location} is retired ({app.environment}) with {count}, and counts no more; its rows stay"
    retired_runs = [plan.run_id for plan in plans]
    document = {"catalog": location, "environment": app.environment, "runs": retired_runs}
    request.answer({"retired": document}, [line])
    return ExitCode.ACCEPTED


def _show_run(request: CommandRequest, run_id: str, *, follow: bool) -> int:
    store = request.app.results
    run = describe_run(store, run_id)
    # Of a leg whose process is gone, no heartbeat will come.
    if follow and not all(leg.is_gone for leg in run.open_legs):
        if not followed(request.out, heartbeats_of(store, run)):
            return ExitCode.ACTIVE
        run = describe_run(store, run_id)
    code = report(request, run)
    if not request.as_json:
        _print_legs(request.out, run)
    if run.active:
        return ExitCode.ACTIVE
    return code


def _show_store(request: CommandRequest) -> None:
    from proofsweep.queries.store_status import store_status  # noqa: PLC0415 - it brings DuckDB

    store = request.app.results
    out = console()
    status = store_status(store, datetime.now(UTC))
    if request.as_json:
        document = status.document()
        document["results"] = store.store.url
        print_json(document)
        return
    if not (status.catalogs or status.retired):
        out.line(words_on_no_run(store))
        return
    for catalog in status.catalogs:
        _print_catalog(request, out, catalog)
    for retired in status.retired:
        files = "other lists have its files"
        if retired.files:
            files = f"{counted(retired.files, 'file')} that no other list has"
        out.line(f"retired: {retired.catalog} ({retired.environment}); {files}", style="dim")
    for plan, leg in status.active:
        title = styled(f"Run {plan.run_id}", "bold")
        out.print()
        out.line(title, f"— {plan.catalog}")
        for line in active_lines(leg.progress, [leg]):
            out.line("  ", line, sep="")
    out.print()
    _print_quotas(out, status)


def _print_quotas(out: Screen, status: "StoreStatus") -> None:
    for quota in status.quotas:
        name = "quota"
        if len(status.quotas) > 1:
            name = f"quota of {quota.environment}"
        out.line(f"{name}: {_quota(quota, status.at)}")
        if quota.sunset is not None:
            note = sunset_note(printable(quota.sunset))
            out.line(note, style=f"bold {PURPLE}")


def _print_legs(out: Screen, run: RunStatus) -> None:
    # Active legs are in the summary already, with their progress.
    active_legs = {leg.leg for leg in run.active}
    where_by_leg = {leg.leg: f"; {where_line(leg)}" for leg in run.open_legs}
    for leg in run.legs:
        if leg.leg in active_legs:
            continue
        words = counted(leg.count("calls"), "call")
        if leg.started_at:
            rows = counted(leg.rows, "row")
            words = f"{leg.started_at:%Y-%m-%d %H:%M:%S} UTC, {rows}, {words}"
        words = f"{words}, ended by {leg.ended_by}"
        rate = leg.counts.get("rate_learned")
        if isinstance(rate, float):
            words = f"{words}, the service allows {rate:,.1f} calls/s"
        where = where_by_leg.get(leg.leg, "")
        out.line(f"  leg {leg.leg}: {words}{where}")


def _print_catalog(request: CommandRequest, out: Screen, catalog: "CatalogStatus") -> None:
    title = styled(catalog.catalog, "bold")
    out.line(title, f"({catalog.environment})")
    if catalog.counts:
        counts = ", ".join(_counts_of_catalog(catalog))
        out.line(f"  {counts}")
    last_at = minute_of(catalog.last_at)
    out.line(f"  last run: {catalog.last_run}, {catalog.ended_by}, {last_at}")
    if catalog.run_remaining:
        rows = remaining_words(catalog.run_remaining, catalog.run_items)
        resume = request.command("resume", catalog.last_run)
        out.line(f"  {rows}:", command=resume, style="bold")


def _counts_of_catalog(catalog: "CatalogStatus") -> Iterator[str]:
    # Rows of a run that is not over are the number that alerts tell; a second one of files would be taken for it.
    left_out = {"files", "remaining"} if catalog.run_remaining else {"files"}
    yield counted(catalog.counts["files"], "file")
    for name, count in catalog.counts.items():
        if count and name not in left_out:
            yield f"{count:,} {name}"


def _quota(quota: "QuotaStatus", now: datetime) -> str:
    left = f"{quota.left:,} calls left at {minute_of(quota.as_of)}"
    if quota.resets_at is None:
        return left
    # The number is as old as its run: after the reset, there may be more.
    verb = "has reset since, at" if quota.resets_at <= now else "resets"
    return f"{left}; it {verb} {minute_of(quota.resets_at)}"


def _lines_of_stop(stopped: StopReport, request: CommandRequest) -> Iterator[str | tuple[str, str]]:
    run = stopped.run
    legs = stopped.legs
    run_id = run.plan.run_id
    resume = request.command("resume", run_id)
    if not legs and run.open_legs:
        where = where_line(run.open_legs[0])
        yield f"Nothing to stop: {where}. Its finished rows are kept:", resume
    elif not legs or stopped.has_ended:
        words = _words_on_ended_run(stopped)
        rows = remaining_words(run.remaining, run.plan.items)
        if run.is_over:
            yield words
        else:
            yield f"{words} {rows}:", resume
    elif stopped.is_silent:
        where = where_line(legs[0])
        yield f"Run {run_id}: {where}, as if it were dead. Go on:", resume
        yield "Or give it up:", request.command("stop", run_id, for_good=True)
    else:
        where = where_line(legs[0])
        follow = request.command("status", run_id, follow=True)
        yield f"Run {run_id}: {where}; it was asked to stop. See:", follow


def _words_on_ended_run(stopped: StopReport) -> str:
    run = stopped.run
    run_id = run.plan.run_id
    if not stopped.legs:
        return f"Nothing to stop: no process works on run {run_id} ({run.state})."
    numbers = " and ".join(str(leg.leg) for leg in stopped.legs)
    return f"Run {run_id}: leg {numbers} has ended ({run.state})."
