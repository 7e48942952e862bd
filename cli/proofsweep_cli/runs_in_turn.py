"""A command's runs of a catalog, one after the other: found or planned, verified, and reported."""

from collections.abc import Iterable
from functools import partial

from proofsweep.app import App
from proofsweep.config.known_errors import known_error
from proofsweep.config.notices import say
from proofsweep.config.threads import utc_now
from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.domain.runs import Bounds, Plan
from proofsweep.domain.text import counted, printable
from proofsweep.queries.status import RunStatus, describe_run, newest_run, words_on_no_run
from proofsweep.reports.run import unsent_pairs_note
from proofsweep.sources.selection import Selection
from proofsweep.verify.attempt import recover_last_legs
from proofsweep_cli import options
from proofsweep_cli.command import CommandRequest, alert_on_stop
from proofsweep_cli.embedded_server import EmbeddedServer
from proofsweep_cli.exit_codes import ExitCode, code_of_error, code_of_run
from proofsweep_cli.plan import print_lists_beside
from proofsweep_cli.prefect_api import prefect_api
from proofsweep_cli.run_flow import require_ready, run_leg
from proofsweep_cli.run_screen import print_forecast, report
from proofsweep_cli.screen import PURPLE


def verify_in_turn(
    request: CommandRequest,
    catalog: str,
    selection: Selection,
    bounds: Bounds,
    *,
    partitions: int | None,
    server: EmbeddedServer | None,
) -> int:
    """Verify an unfinished run of the catalog, then what was added or is due; give the highest exit code."""
    app = request.app
    # No flow runs yet: what ends the command here is told by the command.
    with alert_on_stop(app, catalog):
        app.refuse_bad_selection(catalog, selection, bounds.max_calls)
        unfinished = _unfinished(request, catalog, selection)
        print_lists_beside(request, app.catalog(catalog))
    options.print_bounds(request.out, bounds, utc_now())

    def planned(rest: Bounds) -> Plan:
        # After another run, the end of the quota is nobody's business: its leg has told all.
        alerts = alert_on_stop(app, catalog) if unfinished is None else app.away_is_outage()
        done = app.rows_of_resumed(unfinished, selection)
        with request.out.status("reading the catalog and asking the service …"), alerts:
            plan = app.plan(catalog, selection, rest, apart_from=done, partitions=partitions)
        _show_planned(request, plan)
        return plan

    runs = app.runs_in_turn(unfinished, planned, bounds)
    resumed = None if unfinished is None else unfinished.run_id
    return _verified_in_turn(request, runs, resumed, server)


def resume_in_turn(request: CommandRequest, run_id: str | None, bounds: Bounds) -> int:
    """Verify what remains of a run, by default of the newest unfinished one; a finished one is only reported."""
    app = request.app
    if run_id is None:
        run_id = _run_to_resume(app)
    # A leg whose process is gone has no receipt: its rows are published first, and the run may then be over.
    with request.out.status("checking whether the last leg is active …"):
        recover_last_legs(app.results, app.results.plan(run_id), utc_now)
    run = describe_run(app.results, run_id)
    if run.is_over:
        return report(request, run)
    options.print_bounds(request.out, bounds, utc_now())
    with prefect_api() as server:
        return _verified_in_turn(request, [(run_id, bounds)], run_id, server)


def _run_to_resume(app: App) -> str:
    """Return the newest unfinished run of the environment; if all are over, the newest one, whose summary is given."""
    plan = app.run_to_resume()
    if plan is not None:
        return plan.run_id
    run_id = newest_run(app.results, app.environment)
    if run_id is None:
        of_environment = f" of the environment {printable(app.environment)}"
        raise ResultsError(words_on_no_run(app.results, of_environment))
    return run_id


def _unfinished(request: CommandRequest, catalog: str, selection: Selection) -> Plan | None:
    """Find the run that goes on first; a person must decide if it has rows that the conditions leave out."""
    with request.out.status("looking for an unfinished run …"):
        plan = request.app.run_to_resume(catalog)
    # Which rows are due is no condition: what an unfinished run has to do is due on every night.
    if plan is None or plan.selection.endswith(selection.conditions):
        return plan
    run_id = plan.run_id
    rows = plan.selection or "all rows"
    go_on = request.command("resume", run_id)
    give_up = request.command("stop", run_id, for_good=True)
    raise UsageError(
        f"Run {run_id} of this catalog is unfinished, and takes rows that {selection.conditions} leaves out ({rows}). "
        f"Go on with it: {go_on}. Or give it up: {give_up}"
    )


def _verified_in_turn(
    request: CommandRequest, runs: Iterable[tuple[str, Bounds]], resumed: str | None, server: EmbeddedServer | None
) -> ExitCode:
    """Verify what remains of runs, one after the other, and give the highest exit code; `resumed` had begun before.

    Each run is reported when it ends, whatever hinders the next one; with `--json` only the last one, since stdout
    holds one object.
    """
    app, code = request.app, ExitCode.ACCEPTED
    done: RunStatus | None = None
    try:
        # It starts while the catalog is read, and is there before a run of it is written.
        if server is not None:
            app.require_runner = partial(require_ready, server)
        for run_id, bounds in runs:
            run = describe_run(app.results, run_id)
            if run_id == resumed:
                _show_resumed(request, run, bounds)
            _print_forecast_of_rest(request, run, bounds)
            done = run_leg(request, run, bounds, server)
            code = max(code, code_of_run(done))
            if not request.as_json:
                report(request, done)
    # The run that has ended keeps its exit code: what hinders the next one is a line.
    except Exception as error:
        expected_error = known_error(error)
        if done is None or expected_error is None:
            raise
        say(expected_error.message)
        code = max(code, code_of_error(expected_error))
    if request.as_json and done is not None:
        report(request, done)
    return code


def _print_forecast_of_rest(request: CommandRequest, run: RunStatus, bounds: Bounds) -> None:
    """Say what the rest of a run will take: of its audio, only the whole size is known, so files count alike."""
    app, plan = request.app, run.plan
    # Ineligible rows need no calls: those that are finished take nothing from what is left to send.
    finished_eligible = run.finished - run.rows("ineligible")
    eligible = min(run.remaining, plan.eligible - finished_eligible)
    eligible = max(0, eligible)
    audio_bytes = plan.audio_bytes * eligible // max(1, plan.eligible)
    may_be_free = min(plan.may_be_free, eligible)
    cost = app.forecast(eligible, audio_bytes, app.service.status(), bounds, may_be_free)
    print_forecast(request.out, cost)


def _show_planned(request: CommandRequest, plan: Plan) -> None:
    out = request.out
    rows = counted(plan.items, "row")
    counts = f"{rows}, {plan.eligible:,} to send"
    if plan.skipped:
        counts = f"{counts}, {plan.skipped:,} skipped"
    out.line(f"Run {plan.run_id}: {counts}")
    if not plan.items:
        out.line("Nothing is due; the run only records that files are in the catalog no more.")
    for note in unsent_pairs_note(plan.reasons):
        out.line(note, style=f"bold {PURPLE}")


def _show_resumed(request: CommandRequest, run: RunStatus, bounds: Bounds) -> None:
    out = request.out
    app = request.app
    plan = run.plan
    rows = counted(plan.items, "row")
    remaining = f"{run.remaining:,} of {rows}"
    out.line(f"Run {plan.run_id} is unfinished and goes on: {remaining} of {plan.catalog} to do")
    with out.status("asking the service …"), alert_on_stop(app, plan.catalog):
        app.service.awaited(bounds.reserve)
    if app.planner.has_changed(plan):
        out.print("The catalog has changed since it was planned; this run follows its plan.")
