"""What the partner's health, usage and probes say, in words and as JSON."""

from collections.abc import Sequence
from datetime import datetime

from proofsweep.model.tables.columns import Row
from proofsweep.text import minute_of


def line_of_round(probes: Sequence[Row]) -> str:
    """Say in one line what a round of monitoring found."""
    return " · ".join(_words_of(probe) for probe in probes)


def _words_of(probe: Row) -> str:
    elapsed = float(str(probe["elapsed_ms"]))
    state = "well" if probe["trouble"] is None else str(probe["trouble"])
    return f"{probe['call']} {state}, {elapsed:,.0f} ms{_headroom_of(probe)}"


def _headroom_of(probe: Row) -> str:
    left, limit, reset = probe["rate_remaining"], probe["rate_limit"], probe["rate_reset"]
    if not isinstance(left, int):
        return ""
    of = f" of {limit:,}" if isinstance(limit, int) else ""
    until = f" until {minute_of(reset)}" if isinstance(reset, datetime) else ""
    return f", {left:,}{of} calls left{until}"
