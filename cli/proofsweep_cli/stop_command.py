"""`proofsweep stop`: stop a run in good order, from any machine that reaches its results store."""

import typer

from proofsweep.domain.errors import UsageError
from proofsweep.queries.status import StopReport, only_active_run, stop_run
from proofsweep.reports.run import json_of
from proofsweep.wiring.stores import results_for
from proofsweep_cli.active_leg import where_line
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import AsJson, Config, ResultsUrl
from proofsweep_cli.run_request import RunRequest
from proofsweep_cli.screen import counted, print_json

# A leg sees the request within some seconds, gives files in flight `bounds.drain_seconds`, and settles.
_WAIT_SECONDS = 60.0

_Run = typer.Argument(None, metavar="[RUN]", help="A run; without one, the only run that is active.")
_NoWait = typer.Option(False, "--no-wait", help="Ask, and do not wait until the leg has ended.")


def stop(
    run_id: str | None = _Run,
    *,
    no_wait: bool = _NoWait,
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Stop a run in good order from any machine, as Ctrl-C does where it runs: through the results store.

    Files in flight are finished, finished rows are kept, and `resume` does the rest. The exit code is 0 if the leg has
    ended, or had before, and 9 if it is still stopping after a minute, or was only asked to with --no-wait.

    Example: `proofsweep stop 20261120T091500Z_8c1f04`
    """
    request = RunRequest(config=config, results_url=results, as_json=as_json)
    store = results_for(request.settings)
    run_id = run_id or only_active_run(store)
    if run_id is None:
        raise UsageError(f"No run is active in {store.store.url}: there is nothing to stop.")
    stopped = stop_run(store, run_id, 0.0 if no_wait else _WAIT_SECONDS)
    if as_json:
        facts = {
            "asked": stopped.leg is not None,
            "asked_before": stopped.leg is not None and not stopped.is_first,
            "ended": stopped.has_ended,
        }
        print_json(json_of(stopped.run, store.store.url) | {"stop": facts})
    else:
        request.out.print(_sentence(stopped, request), soft_wrap=True)
    return ExitCode.ACCEPTED if stopped.has_ended else ExitCode.ACTIVE


def _sentence(stopped: StopReport, request: RunRequest) -> str:
    run, leg = stopped.run, stopped.leg
    run_id = run.plan.run_id
    rows = f"{run.remaining:,} of {counted(run.plan.items, 'row')} remain"
    rest = "" if run.is_over else f" {rows}: {request.resume(run_id)}"
    if leg is None and run.open_leg is not None:
        return f"Nothing to stop: {where_line(run.open_leg)}. Its finished rows are kept: {request.resume(run_id)}"
    if leg is None:
        return f"Nothing to stop: no process works on run {run_id} ({run.state}).{rest}"
    if stopped.has_ended:
        return f"Run {run_id}: leg {leg.leg} has ended ({run.state}).{rest}"
    was = "was asked to stop" if stopped.is_first else "had been asked to stop before"
    return f"Run {run_id}: {where_line(leg)}; it {was}. See: {request.command('status', '--follow', run_id)}"
