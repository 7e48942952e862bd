"""`proofsweep health` and `proofsweep usage`: ask the service now; nothing is stored."""

import typer
from rich.table import Table

from proofsweep.contract.headers import AnswerHeaders
from proofsweep.contract.limits import USAGE_DAYS
from proofsweep.contract.models import PartnerUsageResponse
from proofsweep.settings import load_settings
from proofsweep.wiring.engines import asked
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.key_block import read_block
from proofsweep_cli.options import AsJson, Config
from proofsweep_cli.screen import console, print_json

# Chosen: as many days as the contract answers without the parameter; half hides a weekend's peak, twice fills a screen.
_DAYS = 30

# Attempts of a call: a person waits. Chosen: half fails at one lost connection; twice waits longer.
_ATTEMPTS = 2


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(health)
    app.command()(usage)


def health(config: str | None = Config, as_json: bool = AsJson) -> int:
    """Ask whether the service is well; no key is sent, and nothing is spent. The exit code is 8 if it is not.

    Example: `proofsweep health --config production`
    """
    answer, call, url = asked(load_settings(config), read_block, lambda each: each.with_attempts(_ATTEMPTS).health())
    state = "well" if answer.ok else "not well" if answer.ok is False else "does not say whether it is well"
    if as_json:
        print_json(answer.model_dump() | {"elapsed_ms": call.elapsed_ms, "request_id": call.request_id})
    else:
        deployed = "" if answer.deployed_at is None else f", deployed {answer.deployed_at:%Y-%m-%d %H:%M} UTC"
        words = f"version {answer.version or 'unknown'}, commit {answer.commit or 'unknown'}{deployed}"
        out = console()
        out.print(f"{url}: {state}", style="green" if answer.ok else "yellow", soft_wrap=True)
        out.print(f"  {words}; {call.elapsed_ms:,.0f} ms", soft_wrap=True)
        out.print(f"  request ID: {call.request_id or 'none'}", soft_wrap=True)
    return ExitCode.BREAKER if answer.ok is False else ExitCode.ACCEPTED


def usage(
    days: int = typer.Option(
        _DAYS, "--days", metavar="N", min=USAGE_DAYS.start, max=USAGE_DAYS.stop - 1, help="UTC days to show."
    ),
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Show the key's calls by UTC day, and how many are left; one keyed call.

    Example: `proofsweep usage --days 7 --config production`
    """
    (answer, headers), _, _ = asked(
        load_settings(config), read_block, lambda each: each.with_attempts(_ATTEMPTS).usage(days=days)
    )
    if as_json:
        left = {"headroom": headers.rate_remaining, "reset": headers.rate_reset, "request_id": headers.request_id}
        print_json(answer.model_dump() | left)
    else:
        _print(answer, headers)
    return ExitCode.ACCEPTED


def _print(answer: PartnerUsageResponse, headers: AnswerHeaders) -> None:
    out = console()
    limit = "unknown" if answer.plan.quota_limit is None else f"{answer.plan.quota_limit:,.0f}"
    left = "unknown" if headers.rate_remaining is None else f"{headers.rate_remaining:,}"
    reset = "" if headers.rate_reset is None else f", resets {headers.rate_reset:%Y-%m-%d %H:%M} UTC"
    period = answer.plan.quota_period or "period unknown"
    out.print(f"{left} calls left of {limit} ({period}){reset}", style="bold", soft_wrap=True)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("day (UTC)")
    for name in ("used", "remaining"):
        table.add_column(name, justify="right")
    for day in answer.days:
        counts = ("" if count is None else f"{count:,}" for count in (day.used, day.remaining))
        table.add_row(day.date or "?", *counts)
    out.print(table)
    out.print(f"request ID: {headers.request_id or 'none'}", soft_wrap=True)
