"""The lane of one key as the processes that use it share it: who is active, what each keeps to, and how it is divided.

What is shared is advice: a process that cannot read or write it finds its part of the lane alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

# The part of a class's rate that is kept for the less urgent ones, so that none of them stands still.
_KEPT_SHARE = 0.15
# Within which time the slots that a less urgent process has in hand should be used. The contract states no
# lifetime of a slot.
_SLOT_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """Gains `rate` tokens per second, holds at most `burst`, and gives one to each call that it lets through."""

    rate: float
    burst: float


class LanePriority(IntEnum):
    """Which processes go first in a lane, the most urgent first."""

    INGEST = 0
    VERIFY = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One active process, as it was when it wrote last."""

    priority: int
    rate: float  # calls per second that it keeps to
    let_in: float = 0.0  # calls per second that the service has let in for it lately
    need: float | None = None  # calls per second that it can use; None for as many as it gets
    beat: int = 0  # counts what it wrote; it is alive while this grows
    seconds: float = 0.0  # for how long it has been one
    pause_seconds: float = 0.0  # what was left then of a pause that the service has asked it for
    refused: int = 0  # calls answered with 429 since it began
    slots: int = 0  # that it has in hand


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """What the processes with one key have told each other."""

    bucket: TokenBucket | None = None  # what the lane is taken for; None while nobody has an idea
    learned_at: float = 0.0  # when the rate was last learned, in epoch seconds of the machine that did
    keeper: str = ""  # the token of the process that finds the rate for all
    members: Mapping[str, Member] = field(default_factory=dict)


def fair_rates(rate: float, members: Mapping[str, Member], floor_rate: float) -> dict[str, float]:
    """Divide a rate by need: the more urgent first, those alike evenly.

    Each less urgent one keeps the floor rate, and what its slots in hand need, which are short-lived; all of them
    together as far as that is a small part.
    """
    rates: dict[str, float] = {}
    for priority in sorted({member.priority for member in members.values()}):
        later = [member for member in members.values() if member.priority > priority]
        wanted = sum(max(floor_rate, member.slots / _SLOT_SECONDS) for member in later)
        kept = min(wanted, _KEPT_SHARE * rate)
        needs = {token: member.need for token, member in members.items() if member.priority == priority}
        given = _divided(rate - kept, needs)
        rates |= given
        rate -= sum(given.values())
    return rates


def _divided(rate: float, needs: Mapping[str, float | None]) -> dict[str, float]:
    given: dict[str, float] = {}
    by_need = sorted(needs, key=lambda token: (_endless(needs[token]), token))
    for count, token in enumerate(by_need):
        given[token] = min(_endless(needs[token]), rate / (len(by_need) - count))
        rate -= given[token]
    return given


def _endless(need: float | None) -> float:
    return float("inf") if need is None else need


def keeper_of(present: str, members: Mapping[str, Member], *, is_known: bool) -> str:
    """Name the process that finds the rate for all: the present one, but to search for it one that has much to do."""
    if present in members and (is_known or members[present].need is None):
        return present
    return max(members, key=lambda token: (members[token].need is None, members[token].rate, token), default="")
