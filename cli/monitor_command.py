"""`proofsweep monitor`: probe the service every few minutes, and tell somebody what lasts."""

import time

import typer

from cli.exit_codes import ExitCode
from cli.interrupt import interrupted_by_signals
from cli.key_block import read_block
from cli.options import AsJson, Config, ResultsUrl
from cli.screen import console, print_error, print_json
from proofsweep.alerts.notifier import Delivery
from proofsweep.answers.operation_lines import line_of_round
from proofsweep.errors import ProofsweepError
from proofsweep.logs import set_up_logs
from proofsweep.settings import Settings, load_settings
from proofsweep.verify.budget.bounds import duration_of
from proofsweep.wiring.alerts import missed_line, notifier_for
from proofsweep.wiring.engines import utc_now
from proofsweep.wiring.operations import Monitored, monitor_service
from tasks.stop_on_signals import STOP_ASKED

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
    monitored = monitor_service(settings, read_block)
    notifier = notifier_for(settings, read_block)
    delivery = (
        Delivery(monitored.alerts, [], []) if notifier is None else notifier.notify(monitored.alerts, monitored.over)
    )
    if as_json:
        print_json(_json_of(monitored, delivery))
    else:
        _print(monitored, delivery, was_sent=notifier is not None)
    if delivery.missed:
        print_error(missed_line(delivery))
    troubles = [str(probe["trouble"]) for probe in monitored.batch.probes if probe["trouble"] is not None]
    codes = [_CODES.get(trouble, ExitCode.BREAKER) for trouble in troubles]
    codes += [ExitCode.REJECTED] * bool(delivery.hold) + [ExitCode.FAILED] * bool(delivery.missed)
    return max(codes, default=ExitCode.ACCEPTED)


def _print(monitored: Monitored, delivery: Delivery, *, was_sent: bool) -> None:
    out = console()
    is_well = all(probe["trouble"] is None for probe in monitored.batch.probes)
    line = f"{utc_now():%Y-%m-%d %H:%M:%S}  {line_of_round(monitored.batch.probes)}"
    out.print(line, style="green" if is_well else "yellow", soft_wrap=True)
    for alert in delivery.hold:
        state = "sent" if alert in delivery.sent else "told before" if was_sent and not delivery.missed else "not sent"
        out.print(f"  {state:<12}{alert.subject}", style="bold", soft_wrap=True)


def _json_of(monitored: Monitored, delivery: Delivery) -> dict[str, object]:
    alerts = [{"kind": each.kind, "subject": each.subject, "sent": each in delivery.sent} for each in delivery.hold]
    return {
        "probes": monitored.batch.probes,
        "usage": monitored.batch.usage,
        "alerts": alerts,
        "missed": list(delivery.missed),
    }
