"""`proofsweep service` and `proofsweep alerts`: how the service is, and who is told of what needs a person."""

from collections.abc import Iterator

import typer
from rich.table import Table
from rich.text import Text

from proofsweep.alerts.rules import TEST_ALERT
from proofsweep.alerts.send import Delivery
from proofsweep.config.notices import say
from proofsweep.config.threads import utc_now
from proofsweep.domain.errors import ConfigError
from proofsweep.domain.exchanges import USAGE_DAYS, AnswerHeaders
from proofsweep.domain.models import PartnerUsageResponse
from proofsweep_cli.command import CommandRequest, with_request
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.screen import GREEN, PURPLE, styled, table

_NOBODY = "Nobody would be told: set alerts.urls_file or alerts.urls_block; see docs/alerts.md."
_DAYS = 30
_ATTEMPTS = 2  # attempts of a call: a person waits
_CODES = {"key_refused": ExitCode.KEY_REFUSED, "throttled": ExitCode.REJECTED}
service_group = typer.Typer(no_args_is_help=True)
alerts_group = typer.Typer(no_args_is_help=True)


@service_group.command()
@with_request(without="results")
def health(request: CommandRequest) -> int:
    """Ask whether the service is well; no key is sent, and nothing is spent. The exit code is 8 if it is not.

    Example: `proofsweep service health --config production`
    """
    app = request.app
    with app.keyless_service() as service:
        found, call = service.ask(lambda partner: partner.with_attempts(_ATTEMPTS).health())
    state = "well" if found.ok else "not well" if found.ok is False else "does not say whether it is well"
    took = f"{call.elapsed_ms:,.0f} ms"
    deployed = "" if found.deployed_at is None else f", deployed {found.deployed_at:%Y-%m-%d %H:%M} UTC"
    lines: list[str | Text | Table] = [
        styled(f"{app.settings.service.base_url}: {state}", GREEN if found.ok else PURPLE),
        f"  version {found.version or 'unknown'}, commit {found.commit or 'unknown'}{deployed}; {took}",
        f"  request ID: {call.request_id or 'none'}",
    ]
    document = found.model_dump() | {"elapsed_ms": round(call.elapsed_ms, 1), "request_id": call.request_id}
    request.answer(document, lines)
    return ExitCode.BREAKER if found.ok is False else ExitCode.ACCEPTED


@service_group.command()
@with_request(without="results")
def usage(
    request: CommandRequest,
    days: int = typer.Option(
        _DAYS, "--days", metavar="N", min=USAGE_DAYS.start, max=USAGE_DAYS.stop - 1, help="UTC days to show."
    ),
) -> int:
    """Show the key's calls by UTC day, and how many are left; one keyed call.

    Example: `proofsweep service usage --days 7 --config production`
    """
    ask = request.app.service.ask
    (found, headers), _ = ask(lambda each: each.with_attempts(_ATTEMPTS).usage(days=days))
    left = {"headroom": headers.rate_remaining, "reset": headers.rate_reset, "request_id": headers.request_id}
    request.answer(found.model_dump() | left, _lines_of_usage(found, headers))
    return ExitCode.ACCEPTED


@service_group.command()
@with_request()
def monitor(request: CommandRequest) -> int:
    """Probe health and usage once, keep status, latency, request ID and headroom, and tell what lasts.

    Let cron run it every five minutes; it is one keyed call. Rows go to the table `probes`. One failed probe alarms
    nobody; docs/alerts.md says what does. The exit code is 8 if the service is not well, 7 if it refuses the key, and 3
    if an alert holds.

    Example: `proofsweep service monitor --config production`
    """
    app = request.app
    (batch, alerts, over), notifier = app.monitored(), app.notifier()
    if notifier is None:
        delivery = Delivery(alerts, untold=[each.cause for each in alerts])
    else:
        delivery = notifier.notify(alerts, over)
    troubles = [str(probe["trouble"]) for probe in batch.probes if probe["trouble"] is not None]
    found = {"probes": batch.probes, "usage": batch.usage} | _document_of(delivery)
    line = f"{utc_now():%Y-%m-%d %H:%M:%S}  {batch.line()}"
    lines = [styled(f"  {delivery.line_of(alert)}", "bold") for alert in delivery.hold]
    request.answer(found, [styled(line, PURPLE if troubles else GREEN), *lines])
    codes = [_CODES.get(trouble, ExitCode.BREAKER) for trouble in troubles]
    return max([_end_of(delivery), *codes])


def _lines_of_usage(found: PartnerUsageResponse, headers: AnswerHeaders) -> Iterator[str | Text | Table]:
    limit = "unknown" if found.plan.quota_limit is None else f"{found.plan.quota_limit:,.0f}"
    left = "unknown" if headers.rate_remaining is None else f"{headers.rate_remaining:,}"
    reset = "" if headers.rate_reset is None else f", resets {headers.rate_reset:%Y-%m-%d %H:%M} UTC"
    period = found.plan.quota_period or "period unknown"
    yield styled(f"{left} calls left of {limit} ({period}){reset}", "bold")
    days = table("day (UTC)", "used", "remaining", right=("used", "remaining"))
    for day in found.days:
        days.add_row(day.date or "?", *("" if count is None else f"{count:,}" for count in (day.used, day.remaining)))
    yield days
    yield f"request ID: {headers.request_id or 'none'}"


@alerts_group.command()
@with_request()
def check(
    request: CommandRequest,
    catalogs: list[str] | None = typer.Argument(
        None, metavar="[CATALOG]...", help="Each must have had a successful run lately; by default any catalog will do."
    ),
) -> int:
    """Look for what must be told, and tell it: no successful run, rows that remain, killed work, the key, the quota.

    Let cron run it every few hours. Each cause is told once. Uses one keyed call. The exit code is 3 if something is
    found, and 4 if somebody could not be told.

    Example: `proofsweep alerts check catalog.csv --config nightly`
    """
    app = request.app
    looked = app.alert_check(catalogs or [])
    if (notifier := app.notifier()) is None:
        raise ConfigError(_NOBODY)
    delivery = notifier.notify(*looked.gather())
    nothing = "Nothing that was looked at needs a person:" if looked.skipped else "Nothing needs a person."
    lines = [delivery.line_of(alert) for alert in delivery.hold] or [nothing]
    request.answer(_document_of(delivery) | {"skipped": looked.skipped}, [*lines, *looked.skipped])
    return _end_of(delivery)


def _document_of(delivery: Delivery) -> dict[str, object]:
    alerts = [
        {"kind": each.kind, "subject": each.subject, "body": each.body, "sent": each.cause in delivery.sent}
        for each in delivery.hold
    ]
    return {"alerts": alerts, "missed": list(delivery.missed)}


def _end_of(delivery: Delivery) -> ExitCode:
    if delivery.missed:
        say(delivery.missed_line)
        return ExitCode.FAILED
    return ExitCode.REJECTED if delivery.hold else ExitCode.ACCEPTED


@alerts_group.command("test")
@with_request(without="results")
def send_test(request: CommandRequest) -> int:
    """Send a test message to everybody who is told; the exit code is 4 if somebody did not take it.

    Example: `proofsweep alerts test --config nightly`
    """
    if (receivers := request.app.receivers()) is None:
        raise ConfigError(_NOBODY)
    (missed,), told = receivers.send([TEST_ALERT]), len(receivers.names)
    line = f"The test message was taken by {told - len(missed)} of {told}."
    request.answer({"told": told, "missed": list(missed)}, [line])
    return _end_of(Delivery([], missed=missed))
