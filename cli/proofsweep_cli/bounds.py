"""Print the bounds of a run before it begins."""

from datetime import datetime

from rich.console import Console

from proofsweep.domain.errors import UsageError
from proofsweep.domain.runs import Bounds


def print_bounds(out: Console, bounds: Bounds, now: datetime) -> None:
    """Print the bounds, with the closing time in UTC and in local time; UsageError if the window is closed already."""
    parts = [] if bounds.closes_at is None else [f"at {_instant_text(bounds.closes_at)}"]
    parts += [] if bounds.max_calls is None else [f"after {bounds.max_calls:,} calls"]
    parts += [f"with {bounds.reserve:,} calls of the quota left"] if bounds.reserve else []
    refuse_closed_window(bounds, now)
    if parts:
        out.print(f"Stops {' or '.join(parts)}", soft_wrap=True)


def refuse_closed_window(bounds: Bounds, now: datetime) -> None:
    """Raise UsageError if the window is closed already."""
    if bounds.closes_at is not None and bounds.closes_at <= now:
        raise UsageError(f"The window is over: it closed at {_instant_text(bounds.closes_at)}.")


def _instant_text(at: datetime) -> str:
    here = at.astimezone()
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" + (f" ({here:%H:%M} {here:%Z})" if here.utcoffset() else "")
