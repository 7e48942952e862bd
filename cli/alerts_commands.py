"""`proofsweep alerts check` and `proofsweep alerts test`: tell somebody without a Prefect server."""

from pathlib import Path

import typer

from cli.exit_codes import ExitCode
from cli.key_block import read_block
from cli.options import AsJson, Config, ResultsUrl
from cli.screen import console, print_error, print_json
from proofsweep.alerts.messages import TEST_ALERT
from proofsweep.alerts.notifier import Delivery
from proofsweep.errors import ConfigError
from proofsweep.logs import set_up_logs
from proofsweep.settings import load_settings
from proofsweep.wiring.alerts import missed_line, notifier_for, receivers_for
from proofsweep.wiring.alerts_check import Check

_NOBODY = "Nobody would be told: set alerts.urls_file, alerts.urls_env or alerts.urls_block; see docs/alerts.md."


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    alerts = typer.Typer(help="Tell somebody of what needs a person.", no_args_is_help=True)
    alerts.command("check")(check)
    alerts.command("test")(send_test)
    app.add_typer(alerts, name="alerts")


def check(
    catalogs: list[str] | None = typer.Argument(
        None, metavar="[CATALOG]...", help="Each must have had a successful run lately; by default any catalog will do."
    ),
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Look for what must be told, and tell it: no successful run, rows that remain, the key, the quota, its usage.

    Let cron run it every few hours. Each cause is told once. Uses one keyed call. The exit code is 3 if something is
    found, and 4 if somebody could not be told.

    Example: `proofsweep alerts check catalog.csv --config nightly`
    """
    set_up_logs()
    settings = load_settings(config, results)
    notifier = notifier_for(settings, read_block)
    if notifier is None:
        raise ConfigError(_NOBODY)
    looked = Check(settings, catalogs or [], str(Path.cwd()), read_block)
    delivery = notifier.notify(looked.decide)
    if as_json:
        print_json(_json_of(delivery, looked))
    else:
        _print(delivery, looked)
    return ExitCode.FAILED if delivery.missed else ExitCode.REJECTED if delivery.urgent else ExitCode.ACCEPTED


def send_test(config: str | None = Config) -> int:
    """Send a test message to everybody who is told; the exit code is 4 if somebody did not take it.

    Example: `proofsweep alerts test --config nightly`
    """
    receivers = receivers_for(load_settings(config), read_block)
    if receivers is None:
        raise ConfigError(_NOBODY)
    (missed,) = receivers.send([TEST_ALERT])
    if missed:
        print_error(missed_line(Delivery([TEST_ALERT], [], missed)))
        return ExitCode.FAILED
    console().print(f"The test message was taken by {len(receivers)} of {len(receivers)}.")
    return ExitCode.ACCEPTED


def _print(delivery: Delivery, looked: Check) -> None:
    out = console()
    for alert in dict.fromkeys([*delivery.urgent, *delivery.sent]):
        state = "sent" if alert in delivery.sent else "not sent" if delivery.missed else "told before"
        out.print(f"{state:<12}{alert.subject}", soft_wrap=True)
    if not delivery.urgent:
        out.print("Nothing needs a person.")
    for line in looked.skipped:
        out.print(line, soft_wrap=True)
    if delivery.missed:
        print_error(missed_line(delivery))


def _json_of(delivery: Delivery, looked: Check) -> dict[str, object]:
    alerts = [
        {"kind": alert.kind, "subject": alert.subject, "body": alert.body, "sent": alert in delivery.sent}
        for alert in delivery.hold
    ]
    return {"alerts": alerts, "missed": list(delivery.missed), "skipped": looked.skipped}
