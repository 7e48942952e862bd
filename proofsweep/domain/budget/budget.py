"""What a leg has spent of the key's quota, and whether another item may begin: pure (contract, Limits)."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from proofsweep.domain.budget.bounds import Bounds
from proofsweep.domain.exchanges import Call, Exchange

_CALLS_OF_AN_ITEM = frozenset({Call.UPLOADS, Call.VERIFY})
_LAST_LOOK = 1
"""A leg asks once more for its headroom when it ends; and before it ends for want of it, if that may be mistaken."""

_CALLS_THAT_TELL = 50
"""So many calls between two looks at the headroom tell what a call costs."""

_LOWEST_COST = 0.5
"""Metering at the edge may lag, so less than a verify call for each item is not believed."""


_FRESH = timedelta(minutes=1)
"""Whoever waited for a reset is back within so long of it."""

_SPREAD_SECONDS = 5.0


class Shortage(StrEnum):
    """Why no item may begin; the word is that of the `runs` table."""

    CALLS = "window"
    QUOTA = "quota"


@dataclass(slots=True)
class Budget:
    """One leg's account. Every item in flight is owed what it still needs, so that it can be finished.

    The partner's headroom is the authority. Between two looks at it, it is carried on by the calls that were sent,
    each at what a call was last seen to cost, which holds what others spent meanwhile and what is not charged.

    Attributes:
        spent: keyed calls of this leg.
    """

    bounds: Bounds = field(default_factory=Bounds)
    spent: int = 0
    _owed: dict[int, set[Call]] = field(default_factory=dict)
    _headroom: int | None = None
    _reset: datetime | None = None
    _spent_then: int = 0
    _cost: float = 1.0

    @property
    def in_flight(self) -> int:
        """How many items have begun and not ended."""
        return len(self._owed)

    @property
    def owed(self) -> int:
        """How many calls the items in flight still need."""
        return sum(map(len, self._owed.values()))

    @property
    def left(self) -> int | None:
        """How many calls the quota should have left by now; None when it was never told."""
        return None if self._headroom is None else max(0, self._headroom - round(self._cost * self._since))

    @property
    def reset(self) -> datetime | None:
        """When the quota begins anew, as it was last told."""
        return self._reset

    @property
    def is_worth_asking(self) -> bool:
        """Say whether so much was spent since the last look that another may tell something else."""
        return self._headroom is not None and self._since >= _CALLS_THAT_TELL

    def was_told(self, headroom: int | None, reset: datetime | None, spent_when_asked: int) -> None:
        """Take the partner's figure. Calls that ended after it was asked for may be in it or not: they count as not.

        Args:
            headroom: keyed calls left; None where the answer did not say.
            reset: when the quota begins anew.
            spent_when_asked: what `spent` was before the question went out.
        """
        if headroom is None:
            return
        calls = spent_when_asked - self._spent_then
        if self._headroom is not None and headroom < self._headroom and calls >= _CALLS_THAT_TELL:
            self._cost = max(_LOWEST_COST, (self._headroom - headroom) / calls)
        self._headroom, self._reset, self._spent_then = headroom, reset, spent_when_asked

    def shortage(self) -> Shortage | None:
        """Say what forbids another item to begin; None when it may."""
        return self._lacking(len(_CALLS_OF_AN_ITEM) + _LAST_LOOK + self.is_worth_asking)

    @property
    def can_look(self) -> bool:
        """Say whether a look at the headroom is left, besides the last one and what items in flight still need."""
        return self._lacking(1 + _LAST_LOOK) is None

    def _lacking(self, calls: int) -> Shortage | None:
        needed = self.owed + calls
        if self.bounds.max_calls is not None and self.spent + needed > self.bounds.max_calls:
            return Shortage.CALLS
        if self._headroom is None:
            return None
        at_the_end = self._headroom - self._cost * (self._since + needed)
        return Shortage.QUOTA if at_the_end < self.bounds.reserve else None

    def begin(self, row: int) -> None:
        """Set aside what an item needs."""
        self._owed[row] = set(_CALLS_OF_AN_ITEM)

    def note(self, exchange: Exchange, row: int | None) -> None:
        """Take an exchange into account, of an item or of none."""
        if not exchange.is_charged:
            return
        self.spent += 1
        self._spent_then += exchange.call is Call.USAGE  # its own answer has counted it
        if row is not None:
            self._owed.get(row, set()).discard(exchange.call)

    def end(self, row: int) -> None:
        """Let go of what an item did not need."""
        self._owed.pop(row, None)

    @property
    def _since(self) -> int:
        return self.spent - self._spent_then


def seconds_after_reset(reset: datetime | None, now: datetime, chance: float) -> float:
    """Say how long to wait before the first file where a quota has just begun anew, so that not all begin at once.

    Args:
        reset: when it was to begin anew, as it was told before; None if it was not.
        now: when the partner was seen to have calls again.
        chance: 0 to 1, drawn anew by each who waits.
    """
    is_fresh = reset is not None and timedelta() <= now - reset < _FRESH
    return chance * _SPREAD_SECONDS if is_fresh else 0.0


def reset_clause(reset: datetime | None, now: datetime) -> str:
    """Say in a clause when the quota begins anew; an instant that is past says nothing."""
    if reset is None or reset <= now:
        return "when it begins anew is not told"
    return f"it begins anew {reset:%Y-%m-%d %H:%M} UTC"
