"""`proofsweep alerts check` and `proofsweep alerts test`: tell somebody without a Prefect server."""

from pathlib import Path

import typer

from proofsweep.config.load import load_settings
from proofsweep.wiring.watching import check_for, deliver, deliver_test
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.key_block import read_block
from proofsweep_cli.options import AsJson, Config, ResultsUrl
from proofsweep_cli.screen import console, print_error, print_json

group = typer.Typer(help="Tell somebody of what needs a person.", no_args_is_help=True)


@group.command()
def check(
    catalogs: list[str] | None = typer.Argument(
        None, metavar="[CATALOG]...", help="Each must have had a successful run lately; by default any catalog will do."
    ),
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Look for what must be told, and tell it: no successful run, rows that remain, killed work, the key, the quota.

    Let cron run it every few hours. Each cause is told once. Uses one keyed call. The exit code is 3 if something is
    found, and 4 if somebody could not be told.

    Example: `proofsweep alerts check catalog.csv --config nightly`
    """
    settings = load_settings(config, results)
    looked = check_for(settings, catalogs or [], str(Path.cwd()), read_block)
    delivery = deliver(settings, looked.gather, read_block)
    if as_json:
        alerts = [
            {"kind": each.kind, "subject": each.subject, "body": each.body, "sent": each.cause in delivery.sent}
            for each in delivery.hold
        ]
        print_json({"alerts": alerts, "missed": list(delivery.missed), "skipped": looked.skipped})
    else:
        out = console()
        for alert in delivery.hold:
            out.print(delivery.line_of(alert), soft_wrap=True)
        if not delivery.hold:
            out.print("Nothing needs a person.")
        for line in looked.skipped:
            out.print(line, soft_wrap=True)
        if delivery.missed:
            print_error(delivery.missed_line)
    return ExitCode.FAILED if delivery.missed else ExitCode.REJECTED if delivery.hold else ExitCode.ACCEPTED


@group.command("test")
def send_test(config: str | None = Config) -> int:
    """Send a test message to everybody who is told; the exit code is 4 if somebody did not take it.

    Example: `proofsweep alerts test --config nightly`
    """
    delivery, receivers = deliver_test(load_settings(config), read_block)
    console().print(f"The test message was taken by {receivers - len(delivery.missed)} of {receivers}.")
    if delivery.missed:
        print_error(delivery.missed_line)
    return ExitCode.FAILED if delivery.missed else ExitCode.ACCEPTED
