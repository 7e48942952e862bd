"""What a killed leg spent beyond its journal, as far as the partner's own figures tell: pure (contract, Limits)."""

from dataclasses import dataclass
from datetime import datetime

FEW_CALLS = 300
"""So many may have been in flight or not yet written down in a leg that had hardly begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What one answer of GET /partner/usage said of the quota."""

    remaining: int
    limit: int | None
    reset: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """How a successor found the quota.

    Attributes:
        figure: the first it was told.
        calls: keyed calls that it had made until then, that one included.
        key_fingerprint: of the key with which it asked.
    """

    figure: Figure
    calls: int
    key_fingerprint: str


def calls_unrecorded(before: Figure, after: Arrival, *, recorded: int, busiest: int) -> int | None:
    """Infer what a leg spent and could not write down; None where the figures do not tell.

    They do not when the quota began anew or was changed in between, when calls cost something else than one each, or
    when more is missing than a leg leaves unwritten: then somebody else has used the key.

    Args:
        before: what the leg was told when it began.
        after: what its successor was told.
        recorded: calls that the leg made after `before` and wrote down.
        busiest: the most calls that it made within ten seconds; it writes down every second.
    """
    if before.reset is None or (before.limit, before.reset) != (after.figure.limit, after.figure.reset):
        return None
    beyond = before.remaining - after.figure.remaining - after.calls - recorded
    return beyond if 0 <= beyond <= max(busiest, FEW_CALLS) else None
