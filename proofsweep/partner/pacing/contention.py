"""How far below the rate the pace stays, because calls are refused that the pace alone does not explain. Pure.

Other users of the lane, and refusals at random, look alike to one client. So a small share of 429s is accepted without
a slower pace, and a larger one is answered with a slower pace, but never with one that is a small part of the rate.
"""

from dataclasses import dataclass

# All chosen, and checked together in benchmarks/simulation.
# How much one 429 lowers the pace, as its logarithm.
_STEP = 0.03
# Calls that raise it again by as much: the accepted share of 429s is one of so many. More: 1 % at random costs half of
# a lane. Fewer: many clients are refused more often.
_CALLS_PER_REFUSAL = 80
# 429s without effect on the pace at first, and again after so many calls.
_FREE_REFUSALS = 6
# Two cycles of so few calls together lower the pace more, up to so many times.
_SHORT_CALLS = 8
_SHORT_FACTOR = 6
# A 429 to the very first call after a pause lowers the pace more, so many times, until so many calls went through in a
# row: others took the token that the service has announced.
_NONE_FACTOR = 8
_CALM_CALLS = 40
# The most that it lowers the pace: to about a third.
_MOST = 1.0
# From here on other users of the lane are assumed.
_SHARED = 0.1


@dataclass(slots=True)
class Contention:
    """A balance: each 429 adds, each call takes away.

    Attributes:
        margin: the logarithm of how far the pace stays below the rate; not below 0.
    """

    _balance: float = -_FREE_REFUSALS * _STEP
    _calls_before: float = _SHORT_CALLS
    _is_new: bool = True
    _accepted_share: float | None = None

    @property
    def margin(self) -> float:
        """The logarithm of how far below the rate the pace stays."""
        return max(0.0, self._balance)

    @property
    def is_shared(self) -> bool:
        """Return whether others seem to use the lane too."""
        return self._balance > _SHARED and not self.is_chance

    @property
    def is_chance(self) -> bool:
        """Return whether a share of 429s is accepted because chance refuses them."""
        return self._accepted_share is not None

    def accept(self, share: float | None) -> None:
        """Accept another share of 429s without a slower pace, since chance refuses them; None for the usual share."""
        self._accepted_share = share
        if share is not None:
            self._balance = min(0.0, self._balance)

    def sent(self) -> None:
        """Take note of a call."""
        share = self._accepted_share or 1 / _CALLS_PER_REFUSAL
        self._balance = max(-_FREE_REFUSALS * _STEP, self._balance - _STEP * share)

    def refused(self, calls: float) -> None:
        """Take note of a 429 after so many calls; infinite if a faster pace has provoked it."""
        shortness = max(0.0, 1.0 - (calls + self._calls_before) / _SHORT_CALLS)
        self._is_new = self._is_new and calls < _CALM_CALLS
        step = _STEP
        if not self.is_chance:
            step *= 1.0 + _SHORT_FACTOR * shortness + _NONE_FACTOR * (self._is_new and not calls)
        self._calls_before = calls
        self._balance = min(_MOST, self._balance + step)
