"""`proofsweep monitor`: probe the service every few minutes, and tell somebody what lasts."""

import time

import typer

from proofsweep.answers.operation_lines import line_of_round
from proofsweep.errors import ProofsweepError
from proofsweep.logs import set_up_logs
from proofsweep.model.bounds import duration_of
from proofsweep.settings import Settings, load_settings
from proofsweep.wiring.engines import utc_now
from proofsweep.wiring.watching import monitor_and_tell
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.interrupt import interrupted_by_signals
from proofsweep_cli.key_block import read_block
from proofsweep_cli.options import AsJson, Config, ResultsUrl
from proofsweep_cli.screen import console, print_error, print_json
from proofsweep_tasks.signal_thread import STOP_ASKED

_CODES = {"key_refused": ExitCode.KEY_REFUSED, "throttled": ExitCode.REJECTED}


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(monitor)


def monitor(
    *,
    once: bool = typer.Option(False, "--once", help="Make one round: for cron, or to look now."),
    every: str = typer.Option("5m", "--every", metavar="SPAN", help="Time between two rounds: 5m, 90s."),
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Probe health and usage until Ctrl-C, keep status, latency, request ID and headroom, and tell what lasts.

    A round is one keyed call. Rows go to the table `probes`. One failed probe alarms nobody;
    docs/alerts.md says what does. The exit code of --once is 8 if the service is not well, 7 if it refuses the key, and
    3 if an alert holds.

    Example: `proofsweep monitor --every 5m --config production`
    """
    set_up_logs()
    settings, span = load_settings(config, results), duration_of(every).total_seconds()
    if once:
        return _one_round(settings, as_json=as_json)
    with interrupted_by_signals():
        try:
            _one_round(settings, as_json=as_json)
            while not STOP_ASKED.is_set():
                time.sleep(span)
                _later_round(settings, as_json=as_json)
        except KeyboardInterrupt:
            pass
    return ExitCode.ACCEPTED


def _later_round(settings: Settings, *, as_json: bool) -> None:
    """Make a round; a store or a key that is away for a while does not end the monitoring."""
    try:
        _one_round(settings, as_json=as_json)
    except ProofsweepError as error:
        print_error(error.message)


def _one_round(settings: Settings, *, as_json: bool) -> ExitCode:
    monitored, delivery = monitor_and_tell(settings, read_block)
    probes = monitored.batch.probes
    troubles = [str(probe["trouble"]) for probe in probes if probe["trouble"] is not None]
    if as_json:
        alerts = [{"kind": each.kind, "subject": each.subject, "sent": each in delivery.sent} for each in delivery.hold]
        found = {"probes": probes, "usage": monitored.batch.usage}
        print_json(found | {"alerts": alerts, "missed": list(delivery.missed)})
    else:
        out = console()
        line = f"{utc_now():%Y-%m-%d %H:%M:%S}  {line_of_round(probes)}"
        out.print(line, style="yellow" if troubles else "green", soft_wrap=True)
        for alert in delivery.hold:
            out.print(f"  {delivery.line_of(alert)}", style="bold", soft_wrap=True)
    if delivery.missed:
        print_error(delivery.missed_line)
    codes = [_CODES.get(trouble, ExitCode.BREAKER) for trouble in troubles]
    codes += [ExitCode.REJECTED] * bool(delivery.hold) + [ExitCode.FAILED] * bool(delivery.missed)
    return max(codes, default=ExitCode.ACCEPTED)
