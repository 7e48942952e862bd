"""Does a limit on concurrent calls cause the 429s, and not a rate? Pure: the time is an argument.

The number of calls in flight tells them apart. A concurrency limit refuses calls when many are in flight, and almost
never when fewer are. A rate refuses at any number, and most calls that are in flight at that moment go through.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, field

_LEAST_BURSTS = 3  # bursts of 429s that show a limit
_BURST_SECONDS = 0.5  # 429s that come closer than this are one burst
_LEAST_LIMIT = 2  # with so few in flight a rate refuses calls too
_FADING_SHARE = 0.9  # what each 429 leaves of the older counts
_FADED_COUNT = 0.3  # faded counts of 429s below this are dropped
_FEW = 6  # fewer bursts show a limit where so few calls are refused
_REFUSED_SHARE = 0.2  # the share of calls beyond a limit that is refused
_PROBE_AFTER_SECONDS = 150.0  # when one call beyond the limit is tried
_PROBE_CALLS = 40  # calls beyond the limit that go through before it grows by one


@dataclass(slots=True)
class ConcurrencyLimit:
    """What the number of calls in flight shows; a call counts itself."""

    most: float = math.inf  # the most calls in flight that are let through; infinite while no limit is known
    _admitted: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    _refused: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    _refused_at: float = -math.inf
    _bursts: int = 0
    _admitted_since: int = 0
    _counted_from: float = math.inf

    def allowed(self, now: float) -> float:
        """Return the most calls in flight: every few minutes one more than the limit, to test it."""
        return self.most + (self.most < math.inf and now - self._refused_at > _PROBE_AFTER_SECONDS)

    def was_admitted(self, in_flight: int) -> None:
        self._admitted[in_flight] += 1
        self._admitted_since += 1
        if in_flight > self.most and self._admitted[in_flight] >= _PROBE_CALLS:
            self.most += 1

    def was_refused(self, in_flight: int, now: float) -> bool:
        """Take note of a 429; say whether a limit explains it, so that the rate stays as it is."""
        is_first, self._refused_at = now - self._refused_at > _BURST_SECONDS, now
        if is_first:
            # Calls that leave together do not arrive in order, so their numbers show nothing.
            is_evidence = self.most < math.inf or self._admitted_since >= max(1, in_flight - 1)
            self._bursts += is_evidence
            self._counted_from = in_flight if is_evidence and self._bursts > 1 else math.inf
            self._admitted_since = 0
        if in_flight > self.most:
            self._admitted[in_flight] = 0
            return True
        if in_flight < self._counted_from:
            return False
        self._fade()
        self._refused[in_flight] += 1
        lowest = min(self._refused)
        if lowest <= _LEAST_LIMIT:  # a rate refuses calls at such a number too
            self.most = math.inf
        elif self._is_sharp(lowest):
            self.most = lowest - 1
            return True
        return False

    def _is_sharp(self, lowest: int) -> bool:
        """Whether calls are refused from a number on.

        Fewer bursts show it if none has gone through there, or if the number is small: then it recurs only by a limit.
        """
        through = sum(count for number, count in self._admitted.items() if number >= lowest)
        enough = _LEAST_BURSTS if through and lowest > _FEW else _LEAST_BURSTS - 1
        return self._bursts > enough and sum(self._refused.values()) > _REFUSED_SHARE * through

    def _fade(self) -> None:
        for number in self._admitted:
            self._admitted[number] *= _FADING_SHARE
        for number in list(self._refused):
            self._refused[number] *= _FADING_SHARE
            if self._refused[number] < _FADED_COUNT:
                del self._refused[number]
