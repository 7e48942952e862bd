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
from proofsweep.domain.models import HealthResponse, PartnerUsageResponse
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
        answer, call = service.ask(lambda partner: partner.with_attempts(_ATTEMPTS).health())
    colour = GREEN if answer.ok else PURPLE
    title = styled(f"{app.settings.service.base_url}: {_state(answer)}", colour)
    version = answer.version or "unknown"
    commit = answer.commit or "unknown"
    deployed = ""
    if answer.deployed_at is not None:
        deployed = f", deployed {answer.deployed_at:%Y-%m-%d %H:%M} UTC"
    facts = f"  version {version}, commit {commit}{deployed}; {call.elapsed_ms:,.0f} ms"
    request_id = f"  request ID: {call.request_id or 'none'}"
    document = answer.model_dump()
    document["elapsed_ms"] = round(call.elapsed_ms, 1)
    document["request_id"] = call.request_id
    request.answer(document, [title, facts, request_id])
    if answer.ok is False:
        return ExitCode.BREAKER
    return ExitCode.ACCEPTED


def _state(health: HealthResponse) -> str:
    if health.ok:
        return "well"
    if health.ok is False:
        return "not well"
    # An answer without the field is one of which nothing is known.
    return "does not say whether it is well"


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
    (answer, headers), _ = ask(lambda partner: partner.with_attempts(_ATTEMPTS).usage(days=days))
    document = answer.model_dump()
    document["headroom"] = headers.rate_remaining
    document["reset"] = headers.rate_reset
    document["request_id"] = headers.request_id
    request.answer(document, _lines_of_usage(answer, headers))
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
    batch, alerts, ended_causes = app.monitored()
    notifier = app.notifier()
    if notifier is None:
        delivery = Delivery(alerts, untold=[alert.cause for alert in alerts])
    else:
        delivery = notifier.notify(alerts, ended_causes)
    troubles = [str(probe["trouble"]) for probe in batch.probes if probe["trouble"] is not None]
    line = f"{utc_now():%Y-%m-%d %H:%M:%S}  {batch.line()}"
    colour = PURPLE if troubles else GREEN
    lines = [styled(line, colour)]
    for alert in delivery.hold:
        words = delivery.line_of(alert)
        lines.append(styled(f"  {words}", "bold"))
    document = {"probes": batch.probes, "usage": batch.usage} | _document_of(delivery)
    request.answer(document, lines)
    codes = [_CODES.get(trouble, ExitCode.BREAKER) for trouble in troubles]
    return max([_end_of(delivery), *codes])


def _lines_of_usage(usage: PartnerUsageResponse, headers: AnswerHeaders) -> Iterator[str | Text | Table]:
    plan = usage.plan
    limit = "unknown" if plan.quota_limit is None else f"{plan.quota_limit:,.0f}"
    left = "unknown" if headers.rate_remaining is None else f"{headers.rate_remaining:,}"
    period = plan.quota_period or "period unknown"
    reset = ""
    if headers.rate_reset is not None:
        reset = f", resets {headers.rate_reset:%Y-%m-%d %H:%M} UTC"
    yield styled(f"{left} calls left of {limit} ({period}){reset}", "bold")
    days = table("day (UTC)", "used", "remaining", right=("used", "remaining"))
    for day in usage.days:
        days.add_row(day.date or "?", _figure(day.used), _figure(day.remaining))
    yield days
    yield f"request ID: {headers.request_id or 'none'}"


def _figure(count: float | None) -> str:
    return "" if count is None else f"{count:,}"


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
    alert_check = app.alert_check(catalogs or [])
    notifier = app.notifier()
    if notifier is None:
        raise ConfigError(_NOBODY)
    delivery = notifier.notify(*alert_check.gather())
    skipped = alert_check.skipped
    lines = [delivery.line_of(alert) for alert in delivery.hold]
    # What could not be looked at is listed below: of that, nothing is said here.
    if not lines and skipped:
        lines.append("Nothing that was looked at needs a person:")
    elif not lines:
        lines.append("Nothing needs a person.")
    document = _document_of(delivery) | {"skipped": skipped}
    request.answer(document, [*lines, *skipped])
    return _end_of(delivery)


def _document_of(delivery: Delivery) -> dict[str, object]:
    documents = []
    for alert in delivery.hold:
        is_sent = alert.cause in delivery.sent
        document = {"kind": alert.kind, "subject": alert.subject, "body": alert.body, "sent": is_sent}
        documents.append(document)
    return {"alerts": documents, "missed": list(delivery.missed)}


def _end_of(delivery: Delivery) -> ExitCode:
    if delivery.missed:
        say(delivery.missed_line)
        return ExitCode.FAILED
    if delivery.hold:
        return ExitCode.REJECTED
    return ExitCode.ACCEPTED


@alerts_group.command("test")
@with_request(without="results")
def send_test(request: CommandRequest) -> int:
    """Send a test message to everybody who is told; the exit code is 4 if somebody did not take it.

    Example: `proofsweep alerts test --config nightly`
    """
    receivers = request.app.receivers()
    if receivers is None:
        raise ConfigError(_NOBODY)
    (missed,) = receivers.send([TEST_ALERT])
    all_receivers = len(receivers.names)
    taken = all_receivers - len(missed)
    line = f"The test message was taken by {taken} of {all_receivers}."
    request.answer({"told": all_receivers, "missed": list(missed)}, [line])
    return _end_of(Delivery([], missed=missed))
