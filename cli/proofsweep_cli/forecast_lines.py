"""Print a forecast: calls, quota, and the end of the run."""

from dataclasses import asdict
from datetime import datetime

from rich.console import Console

from proofsweep.domain.text import duration_text
from proofsweep.verify.forecast import Bind, Forecast
from proofsweep_cli.screen import counted

BINDS = {
    Bind.LANE: "the service's lane",
    Bind.UPLINK: "the uplink",
    Bind.CPU: "this machine's CPU",
    Bind.ANSWERS: "the service's answers",
    Bind.THREADS: "the number of workers",
    Bind.QUOTA: "the quota",
    Bind.CALLS: "the limit of calls",
    Bind.WINDOW: "the time window",
}


def print_forecast(
    out: Console, cost: Forecast, now: datetime, trouble: str = "", key_expires_at: datetime | None = None
) -> None:
    """Print what a run will take; `trouble` says why the quota is unknown."""
    learned = "" if cost.cost_of_row is None else f"; earlier, one file took {cost.cost_of_row:.2f} of the quota"
    expected = f"about {cost.calls_expected:,} with retries and requests for the quota"
    out.print(f"  calls: {cost.calls:,} keyed (two for each file), {expected}{learned}", soft_wrap=True)
    out.print(f"  quota: {_quota(cost, trouble)}", style="red" if cost.rows_short else None, soft_wrap=True)
    out.print(f"  end: {_end(cost)}", soft_wrap=True)
    if pace := _pace(cost):
        out.print(f"  pace: {pace}", soft_wrap=True)
    if cost.binds in {Bind.CALLS, Bind.WINDOW}:
        rows = counted(cost.rows_left, "row")
        out.print(f"  left over: about {rows}, for `proofsweep resume` later", style="yellow", soft_wrap=True)
    if key_expires_at is not None and (cost.ends_at is None or cost.ends_at > key_expires_at):
        expiry = _expiry(key_expires_at, cost, now)
        out.print(f"  key: {expiry}; replace it with the rotated one", style="red", soft_wrap=True)


def forecast_json(cost: Forecast) -> dict[str, object]:
    """Return a forecast as members of a JSON object; instants are ISO text."""
    instants = {name: at.isoformat() for name in ("quota_reset", "ends_at") if (at := getattr(cost, name)) is not None}
    return asdict(cost) | instants


def _expiry(key_expires_at: datetime, cost: Forecast, now: datetime) -> str:
    when = f"{key_expires_at:%Y-%m-%d %H:%M} UTC"
    if key_expires_at <= now:
        return f"it expired {when}"
    return f"it expires {when}, before the run {'may end' if cost.ends_at is None else 'ends'}"


def _quota(cost: Forecast, trouble: str) -> str:
    if cost.headroom is None or cost.rows_short is None:
        return f"not known{': ' + trouble if trouble else ''}"
    left = f"{cost.headroom:,} calls left" + (f", {cost.reserve:,} of them reserved" if cost.reserve else "")
    reset = "the reset is unknown" if cost.quota_reset is None else f"resets {cost.quota_reset:%Y-%m-%d %H:%M} UTC"
    if not cost.rows_short:
        return f"{left}, it fits; {reset}"
    rest = "" if cost.quota_reset is None else f", the rest after {cost.quota_reset:%Y-%m-%d %H:%M} UTC"
    return f"{left}, short by {counted(cost.rows_short, 'row')}{rest or '; ' + reset}"


def _end(cost: Forecast) -> str:
    if cost.range_seconds is not None:
        shortest, longest = map(duration_text, cost.range_seconds)
        return f"in {shortest} to {longest}: no run has measured how many calls a second this key gets"
    if cost.ends_at is None or cost.seconds is None or cost.binds is None:
        return "unknown"
    when = f"about {cost.ends_at:%Y-%m-%d %H:%M} UTC, in {duration_text(cost.seconds)}, bound by {BINDS[cost.binds]}"
    return f"{when}; measured with {counted(cost.measured_rows or 0, 'file')}"


def _pace(cost: Forecast) -> str | None:
    if cost.pace_binds is None or cost.seconds is None:
        return None
    if cost.rate is None and cost.pace_binds is not Bind.LANE:
        known = "no call was ever refused, so the service's lane is not known"
    else:
        known = "" if cost.rate is None else f"the service lets {cost.rate:.3g} calls a second through"
    helps = ""
    if cost.seconds_if_doubled is not None:
        helps = f"twice {BINDS[cost.pace_binds]} would take {duration_text(cost.seconds_if_doubled)}"
    return "; ".join(filter(None, (f"limited by {BINDS[cost.pace_binds]}", known, helps)))
