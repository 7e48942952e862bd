"""`proofsweep ingest`: verify what was delivered into a folder since the last pass."""

import time
from contextlib import nullcontext

import typer

from proofsweep.app import utc_now
from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.runs import Bounds
from proofsweep.ingest.one_pass import PassReport, WatchedFolder
from proofsweep.queries.status import describe_run
from proofsweep_cli.command import CommandRequest, interrupted_by_signals, with_request
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
    """Verify new and changed files of a folder once they are settled, and move them by their verdicts.

    A file is taken when its size and version have not changed for a while and its sidecar is there. The settings of
    `ingest` say where accepted and rejected files are moved; by default all stay. Sweeps with the same key yield.

    Example: `proofsweep ingest drops --watch --every 60`
    """
    app = request.app
    bounds = app.bounds(max_calls=max_calls, until=until)
    print_bounds(request.out, bounds, utc_now())
    code, watching = ExitCode.ACCEPTED, app.watched_folder(folder)
    with interrupted_by_signals(), stop_told(app, _FLOW), watching as watched:
        try:
            while True:
                try:
                    with stop_told(app, _FLOW) if watch else nullcontext():
                        code = _one_pass(request, watched, bounds)
                except RunMustStop as stop:  # such as a share that is away: the next pass is made all the same
                    if not watch:
                        raise
                    print_error(stop.message)
                    code = code_of_error(stop)
                if not watch or code in _LAST_PASS or STOP_ASKED.is_set():
                    return code
                time.sleep(every)
        except KeyboardInterrupt:
            if not watch:
                raise
            return code


def _one_pass(request: CommandRequest, watched: WatchedFolder, bounds: Bounds) -> ExitCode:
    code, one_pass = ExitCode.ACCEPTED, watched.one_pass()
    for run_id in one_pass.runs():
        watched.refuse_if_lost()
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
