"""A forecast in words: calls, quota, and when it will end."""

from dataclasses import asdict
from datetime import datetime

from rich.console import Console

from cli.screen import counted, duration_text
from proofsweep.bootstrap.engines import utc_now
from proofsweep.domain.budget.forecast import Bind, Forecast

_BINDS = {
    Bind.LANE: "the service's lane",
    Bind.UPLINK: "the uplink",
    Bind.CPU: "this machine's CPU",
    Bind.ANSWERS: "the service's answers",
    Bind.QUOTA: "the quota",
    Bind.CALLS: "the calls that it is given",
    Bind.WINDOW: "its window",
}


def print_forecast(out: Console, cost: Forecast, trouble: str = "", key_expires_at: datetime | None = None) -> None:
    """Print what a run will take; `trouble` is why the service did not tell its quota."""
    learned = "" if cost.cost_of_row is None else f"; the quota fell by {cost.cost_of_row:.2f} for a file before"
    expected = f"about {cost.calls_expected:,} with tries again and looks at the quota"
    out.print(f"  calls: {cost.calls:,} keyed (two for each file), {expected}{learned}", soft_wrap=True)
    out.print(f"  quota: {_quota(cost, trouble)}", style="red" if cost.rows_short else None, soft_wrap=True)
    out.print(f"  end: {_end(cost)}", soft_wrap=True)
    if cost.binds in {Bind.CALLS, Bind.WINDOW}:
        rows = counted(cost.rows_left, "row")
        out.print(f"  left over: about {rows}, for `proofsweep resume` another time", style="yellow", soft_wrap=True)
    if key_expires_at is not None and (cost.ends_at is None or cost.ends_at > key_expires_at):
        told = f"{_expiry(key_expires_at, cost)}; put the rotated one in its place"
        out.print(f"  key: {told}", style="red", soft_wrap=True)


def forecast_json(cost: Forecast) -> dict[str, object]:
    """Give the same as members of a JSON object; instants are ISO text."""
    instants = {name: at.isoformat() for name in ("quota_reset", "ends_at") if (at := getattr(cost, name)) is not None}
    return asdict(cost) | instants


def _expiry(key_expires_at: datetime, cost: Forecast) -> str:
    when = f"{key_expires_at:%Y-%m-%d %H:%M} UTC"
    if key_expires_at <= utc_now():
        return f"it expired {when}"
    return f"it expires {when}, before the run {'may end' if cost.ends_at is None else 'ends'}"


def _quota(cost: Forecast, trouble: str) -> str:
    if cost.headroom is None or cost.rows_short is None:
        return f"not known{': ' + trouble if trouble else ''}"
    left = f"{cost.headroom:,} calls left" + (f", {cost.reserve:,} of them reserved" if cost.reserve else "")
    reset = "the reset is not told" if cost.quota_reset is None else f"resets {cost.quota_reset:%Y-%m-%d %H:%M} UTC"
    if not cost.rows_short:
        return f"{left}, it fits; {reset}"
    rest = "" if cost.quota_reset is None else f", the rest after {cost.quota_reset:%Y-%m-%d %H:%M} UTC"
    return f"{left}, short by {counted(cost.rows_short, 'row')}{rest or '; ' + reset}"


def _end(cost: Forecast) -> str:
    if cost.ends_at is None or cost.seconds is None or cost.binds is None:
        return "unknown until a first run, or --sample N, has measured it"
    when = f"about {cost.ends_at:%Y-%m-%d %H:%M} UTC, in {duration_text(cost.seconds)}"
    return f"{when}, bound by {_BINDS[cost.binds]}; by the pace of {counted(cost.measured_rows or 0, 'file')}"
