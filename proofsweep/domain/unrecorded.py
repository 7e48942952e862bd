"""What a killed leg spent beyond its journal, as far as the partner's own figures tell: pure (contract, Limits)."""

from dataclasses import dataclass
from datetime import datetime

from proofsweep.contract.limits import CALLS_PER_ITEM

_ITEMS_OF_A_WORKER = 2
"""One that it had just ended and one that it had begun, before a leg that was new had written anything down."""


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
        workers: items in flight at most; the dead leg is taken to have had as many.
    """

    figure: Figure
    calls: int
    key_fingerprint: str
    workers: int


def calls_unrecorded(before: Figure, after: Arrival, *, recorded: int, throttled: int, busiest: int) -> int | None:
    """Infer what a leg spent and could not write down; None where the figures do not tell.

    They do not when the quota began anew or was changed in between, when calls cost something else than one each, or
    when more is missing than a leg leaves unwritten: then somebody else has used the key. Whether a 429 is charged is
    not stated (contract, Errors 5): it is taken to be, unless then less than nothing would be missing.

    Args:
        before: what the leg was told when it began.
        after: what its successor was told.
        recorded: calls that the leg made after `before` and wrote down.
        throttled: those of them that were answered 429.
        busiest: the most calls that it made within ten seconds; it writes down every second.
    """
    if before.reset is None or (before.limit, before.reset) != (after.figure.limit, after.figure.reset):
        return None
    missing = before.remaining - after.figure.remaining - after.calls - recorded
    if missing < 0:
        missing += throttled
    in_hand = after.workers * _ITEMS_OF_A_WORKER * CALLS_PER_ITEM
    return missing if 0 <= missing <= busiest + in_hand else None
