"""`proofsweep ingest`: verify what was delivered into a folder since the last pass."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import typer

from proofsweep.app import utc_now
from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.runs import Bounds
from proofsweep.ingest.one_pass import PassReport, WatchedFolder
from proofsweep.queries.status import describe_run
from proofsweep_cli.command import CommandRequest, with_request
from proofsweep_cli.embedded_server import prefect_api
from proofsweep_cli.exit_codes import ExitCode, code_of_error, code_of_run
from proofsweep_cli.options import MaxCalls, Until, print_bounds
from proofsweep_cli.run_flow import run_leg
from proofsweep_cli.run_screen import report
from proofsweep_cli.screen import print_error, print_json
from proofsweep_cli.verify import stop_told
from proofsweep_tasks.stop_on_signals import STOP_ASKED

_FLOW = "check-ingest"  # as the deployment's flow is named, so that both tell of one cause

_LAST_PASS = {ExitCode.BUG, ExitCode.CANCELLED, ExitCode.KEY_REFUSED}
"""Exit codes after which `--watch` makes no other pass: a person asked for the end, or must act first."""


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
    code, watching = ExitCode.ACCEPTED, app.watched_folder(folder)
    with _interrupted_by_signals(), stop_told(app, _FLOW), watching as watched:
        if not watch:
            return _one_pass(request, watched, bounds)
        with suppress(KeyboardInterrupt):
            while True:
                try:
                    with stop_told(app, _FLOW):
                        code = _one_pass(request, watched, bounds)
                except RunMustStop as stop:  # such as a share that is away: the next pass is made all the same
                    print_error(stop.message)
                    code = code_of_error(stop)
                if code in _LAST_PASS or STOP_ASKED.wait(every):
                    break
    return code


def _one_pass(request: CommandRequest, watched: WatchedFolder, bounds: Bounds) -> ExitCode:
    code, one_pass = ExitCode.ACCEPTED, watched.one_pass()
    for run_id in one_pass.runs():
        with prefect_api() as server:
            run = run_leg(request, describe_run(request.app.results, run_id), bounds, server)
        code = max(code, code_of_run(run))
        if not request.as_json:
            report(request, run)
    return max(code, _told(request, watched.path, one_pass.report))


def _told(request: CommandRequest, path: str, done: PassReport) -> ExitCode:
    if request.as_json:
        print_json(done.document(path))
    else:
        request.out.line(done.line(path), style="bold")
        for message in done.messages():
            request.out.line(f"  {message}")
    errors = done.unmoved_lines()
    for line in [*errors, *request.app.tell(request.app.alerts.end_of_pass(path, done))]:
        print_error(line)
    outcomes = {row["outcome"] for row in done.rows}
    if errors or "failed" in outcomes:
        return ExitCode.FAILED
    return ExitCode.REJECTED if outcomes - {"accepted"} else ExitCode.ACCEPTED


@contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """Set `STOP_ASKED` and raise KeyboardInterrupt on Ctrl-C and on SIGTERM, except during a leg, which takes them.

    A service manager sends SIGTERM, and Python does not hear SIGINT where it is ignored, as in a script's background
    job. The exception alone is not enough: Python drops one that is raised while an object is destroyed.
    """

    def interrupt(_number: int, _frame: object) -> NoReturn:
        STOP_ASKED.set()
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
