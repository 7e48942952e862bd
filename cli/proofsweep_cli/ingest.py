"""`proofsweep ingest`: verify what was delivered into a folder since the last pass."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import typer

from proofsweep.config.notices import say
from proofsweep.config.threads import utc_now
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError, RunIsActive, RunMustStop
from proofsweep.domain.reasons import HINDERS_NOTHING
from proofsweep.domain.runs import Bounds
from proofsweep.ingest.one_pass import IngestPass
from proofsweep.ingest.pass_report import PassReport
from proofsweep.ingest.watched_folder import WatchedFolder
from proofsweep.queries.status import describe_run
from proofsweep_cli.command import CommandRequest, alert_on_stop, with_request
from proofsweep_cli.embedded_server import PrefectIsAway
from proofsweep_cli.exit_codes import ExitCode, code_of_error, code_of_run
from proofsweep_cli.options import MaxCalls, Until, print_bounds
from proofsweep_cli.prefect_api import PrefectApi
from proofsweep_cli.run_flow import run_leg
from proofsweep_cli.run_screen import report
from proofsweep_cli.screen import Screen, print_json
from proofsweep_tasks.stop_on_signals import STOP_ASKED

# As the deployment's flow is named, so that both tell of one cause.
_FLOW = "check-ingest"

_LAST_PASS = {EndedBy.CANCELLED, EndedBy.INTERRUPTED, EndedBy.WINDOW, EndedBy.KEY_REFUSED, EndedBy.ERROR}
"""How a run ends after which `--watch` makes no other pass: a person asked for the end, or must act first."""


@with_request()
def ingest(
    request: CommandRequest,
    folder: str = typer.Argument(metavar="FOLDER", help="Where files are delivered: a folder, or a bucket's prefix."),
    *,
    watch: bool = typer.Option(False, "--watch", help="Make one pass after another until Ctrl-C."),
    every: float = typer.Option(
        60.0, "--every", metavar="SECONDS", min=1.0, help="Time between two passes of --watch."
    ),
    max_calls: int | None = MaxCalls,
    until: str | None = Until,
) -> int:
    """A file is taken when its size and version have not changed for a while and its sidecar is there. The settings of
    `ingest` say where accepted and rejected files are moved; by default all stay. Sweeps with the same key yield.

    Example: `proofsweep ingest drops --watch --every 60`
    """
    app = request.app
    bounds = app.bounds(max_calls=max_calls, until=until)
    print_bounds(request.out, bounds, utc_now())
    watching = app.watched_folder(folder)
    with _interrupted_by_signals(), alert_on_stop(app, folder, _FLOW), watching as watched, PrefectApi() as prefect:
        app.require_runner = prefect.require
        if watch:
            return _passes_until_stopped(request, watched, bounds, prefect, every)
        code, _ = _one_pass(request, watched, bounds, prefect, set(), goes_on=False)
        return code


def _passes_until_stopped(
    request: CommandRequest, watched: WatchedFolder, bounds: Bounds, prefect: PrefectApi, seconds_between: float
) -> ExitCode:
    """Make one pass after another; return the exit code of the last one."""
    code, is_last = ExitCode.ACCEPTED, False
    said: set[str] = set()
    with suppress(KeyboardInterrupt):
        while not is_last:
            code, is_last = _pass_of_many(request, watched, bounds, prefect, said)
            is_last = is_last or STOP_ASKED.wait(seconds_between)
    return code


def _pass_of_many(
    request: CommandRequest, watched: WatchedFolder, bounds: Bounds, prefect: PrefectApi, said: set[str]
) -> tuple[ExitCode, bool]:
    """Make a pass of `--watch`; what may be over at the next one, such as a share that is away, ends only this one."""
    try:
        with alert_on_stop(request.app, watched.path, _FLOW), _stopped_without_prefect():
            return _one_pass(request, watched, bounds, prefect, said, goes_on=True)
    except RunMustStop as stop:
        say(stop.message)
        return code_of_error(stop), stop.ended_by in _LAST_PASS
    except RunIsActive as busy:
        # Another process has taken the folder over, and goes on with it.
        if watched.term.is_lost():
            raise
        say(busy.message)
        return ExitCode.ACTIVE, False
    except ResultsError as error:
        say(error.message)
        return ExitCode.BREAKER, False


@contextmanager
def _stopped_without_prefect() -> Iterator[None]:
    """Let a Prefect server that is away end one pass as one that fails during a run does, and not the command."""
    try:
        yield
    except PrefectIsAway as away:
        raise RunMustStop(away.message, ended_by=EndedBy.KILLED) from away


def _one_pass(
    request: CommandRequest,
    watched: WatchedFolder,
    bounds: Bounds,
    prefect: PrefectApi,
    said: set[str],
    *,
    goes_on: bool,
) -> tuple[ExitCode, bool]:
    """Make a pass; return its exit code, and whether one of its runs ended in a way that ends `--watch`.

    `said` are the lines of what waits, as the last pass gave them and the next one need not repeat.
    """
    code, is_last = ExitCode.ACCEPTED, False
    one_pass = IngestPass(watched)
    for run_id in one_pass.runs():
        before = describe_run(request.app.results, run_id)
        run = run_leg(request, before, bounds, prefect.begin(), goes_on=goes_on)
        code = max(code, code_of_run(run))
        if not run.is_over and run.ended_by in _LAST_PASS:
            is_last = True
        # With --json, stdout holds one object for each pass.
        if not request.as_json:
            report(request, run)
    code_of_pass = _report_pass(request, watched.path, one_pass.report, said)
    return max(code, code_of_pass), is_last


def _report_pass(request: CommandRequest, path: str, done: PassReport, said: set[str]) -> ExitCode:
    """Print what a pass did, and tell whoever is told; give the exit code of its files."""
    app = request.app
    if request.as_json:
        print_json(done.document(path))
    else:
        _print_pass(request.out, path, done, said)
    errors = done.unmoved_lines()
    alerts = app.alert_facts.end_of_pass(path, done)
    for line in [*errors, *app.send_alerts(alerts)]:
        say(line)
    outcomes = {row["outcome"] for row in done.rows if row["reason"] not in HINDERS_NOTHING}
    if errors or "failed" in outcomes:
        return ExitCode.FAILED
    if outcomes - {"accepted"}:
        return ExitCode.REJECTED
    return ExitCode.ACCEPTED


def _print_pass(out: Screen, path: str, done: PassReport, said: set[str]) -> None:
    out.line(done.line(path), style="bold")
    for message in done.messages(said):
        out.line(f"  {message}")
    # What waits no more is said again when it waits again.
    said.clear()
    said.update(done.waiting_lines())


@contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """Set `STOP_ASKED` and raise KeyboardInterrupt on Ctrl-C and on SIGTERM, except during a leg, which takes them.

    A service manager sends SIGTERM, and Python does not hear SIGINT where it is ignored, as in a script's background
    job. The exception alone is not enough: Python drops one that is raised while an object is destroyed.
    """

    def interrupt(_number: int, _frame: object) -> NoReturn:
        STOP_ASKED.set()
        raise KeyboardInterrupt

    # Python lets only the main thread set handlers.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler_of_sigint = signal.signal(signal.SIGINT, interrupt)
    handler_of_sigterm = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler_of_sigint)
        signal.signal(signal.SIGTERM, handler_of_sigterm)
