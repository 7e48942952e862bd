"""Print a rehearsal: the end, what limits it, what would help, and what all this rests on."""

import math
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime, timedelta

from rich.console import Console

from proofsweep.model.forecast import Bind, Forecast
from proofsweep.model.rehearsal import Rehearsal, Remedy
from proofsweep.text import duration_text
from proofsweep_cli.forecast_lines import BINDS
from proofsweep_cli.screen import counted, size_text

# The quick forecast and the rehearsal differ: by more than the error that is asked of the latter, and by some seconds.
_DIFFERS = 0.1
_DIFFERS_SECONDS = 5.0
# Ends of a short run are shown with their seconds.
_SHORT = timedelta(hours=1)
_BOUNDS = {Bind.QUOTA: "enough quota", Bind.CALLS: "no limit of calls", Bind.WINDOW: "no time window"}


def print_rehearsal(out: Console, told: Rehearsal, cost: Forecast, now: datetime) -> None:
    """Print a rehearsal below the forecast; where the two differ, say why."""
    here = told.ends_at.astimezone()
    zone = f"{here:%Y-%m-%d} {_when(told.ends_at, told.seconds)} {here:%Z}"
    out.print(
        f"  rehearsed: ends about {zone}, in {duration_text(told.seconds)}, limited by {BINDS[told.pace_binds]}",
        style="bold",
        soft_wrap=True,
    )
    if told.rows_left:
        rest = f"{counted(told.rows_left, 'row')} left over, because of {BINDS[told.binds]}"
        out.print(f"    {counted(told.rows, 'row')} finished, {rest}", style="yellow", soft_wrap=True)
    if told.uses:
        used = ", ".join(f"{BINDS[bind]} {share:.0%}" for bind, share in sorted(told.uses.items(), key=_by_share))
        out.print(f"    used: {used}", soft_wrap=True)
    for remedy in told.remedies:
        out.print(f"    {_remedy(remedy, told)}", style="green" if remedy.helps else "dim", soft_wrap=True)
    for line in _basis(told, now):
        out.print(f"    {line}", style="dim", soft_wrap=True)
    if cost.seconds is not None and abs(cost.seconds - told.seconds) > max(_DIFFERS_SECONDS, _DIFFERS * told.seconds):
        quick = f"the quick forecast above, {duration_text(cost.seconds)}, multiplies the pace of the last leg"
        out.print(f"    {quick}: it plays neither the lane nor these files", style="dim", soft_wrap=True)
    for sentence in told.assumed:
        out.print(f"    assumed: {sentence}", style="yellow", soft_wrap=True)


def rehearsal_json(told: Rehearsal) -> dict[str, object]:
    """Return a rehearsal as members of a JSON object; instants are ISO text, what has no limit is null."""
    service = told.service
    remedies = [asdict(remedy) | {"ends_at": remedy.ends_at.isoformat()} for remedy in told.remedies]
    return {
        "seconds": told.seconds,
        "ends_at": told.ends_at.isoformat(),
        "rows": told.rows,
        "rows_left": told.rows_left,
        "calls": told.calls,
        "refused": told.refused,
        "binds": told.binds,
        "pace_binds": told.pace_binds,
        "uses": dict(told.uses),
        "first_rate": told.first_rate,
        "is_rate_remembered": told.is_rate_remembered,
        "remedies": remedies,
        "rests_on": {
            "origin": service.origin,
            "rows": service.rows,
            "measured_at": None if service.measured_at is None else service.measured_at.isoformat(),
            "lane": asdict(service.lane),
            "upload_seconds": service.link.fixed_seconds,
            "upload_bytes_per_second": _finite(service.link.of_each),
            "uplink_bytes_per_second": _finite(service.link.of_all),
        },
        "assumed": list(told.assumed),
    }


def _finite(value: float) -> float | None:
    return value if value < math.inf else None


def _by_share(used: tuple[Bind, float]) -> float:
    return -used[1]


def _when(ends_at: datetime, seconds: float) -> str:
    here = ends_at.astimezone()
    return f"{here:%H:%M:%S}" if timedelta(seconds=seconds) < _SHORT else f"{here:%H:%M}"


def _remedy(remedy: Remedy, told: Rehearsal) -> str:
    if not remedy.helps:
        return f"with {_more(remedy)}: no change"
    then = _when(remedy.ends_at, told.seconds)
    if remedy.rows_left < told.rows_left:
        left = f"{counted(remedy.rows_left, 'row')} left over" if remedy.rows_left else "all rows"
        return f"with {_more(remedy)}: {left}, at {then}"
    return f"with {_more(remedy)}: {then} instead of {_when(told.ends_at, told.seconds)}"


def _more(remedy: Remedy) -> str:
    match remedy.bind:
        case Bind.LANE if remedy.amount is not None:
            return f"a lane of {remedy.amount:.3g}/s"
        case Bind.UPLINK if remedy.amount is not None:
            return f"an uplink of {size_text(remedy.amount)}/s"
        case Bind.THREADS if remedy.amount is not None:
            return f"{remedy.amount:.0f} workers"
        case bound:
            return _BOUNDS.get(bound, BINDS[bound])


def _basis(told: Rehearsal, now: datetime) -> Iterator[str]:
    service = told.service
    if service.measured_at is not None:
        age = duration_text(max(0.0, (now - service.measured_at).total_seconds()))
        yield f"rests on {service.origin}: {counted(service.rows, 'file')}, measured {age} ago; {_conditions(told)}"
    begin = "as an earlier run learned" if told.is_rate_remembered else "and searches for the lane"
    yield f"begins with {told.first_rate:.3g} calls a second, {begin}"


def _conditions(told: Rehearsal) -> str:
    lane, link, service, parts = told.service.lane, told.service.link, told.service, []
    if lane.most_at_once is not None:
        parts.append(f"a lane of {lane.most_at_once} calls at once")
    elif lane.rate is not None and not told.is_lane_assumed:
        parts.append(f"a lane of {lane.rate:.3g} calls a second")
    if link.of_all < math.inf:
        parts.append(f"an uplink of {size_text(link.of_all)}/s")
    slot, verify = (middle[len(middle) // 2] for middle in (service.slot_seconds, service.verify_seconds))
    parts.append(f"half of the answers within {slot:.2g} s (slot) and {verify:.2g} s (verify)")
    return ", ".join(parts)
