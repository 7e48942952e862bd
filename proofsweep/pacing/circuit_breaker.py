"""The circuit breaker of a leg: closed, all calls go; open, only probes, one at a time. Pure: `now` is monotonic.

It opens when calls fail for many items, and closes when a probe is answered. A 429 is no failure, and never opens it.
"""

import math
from dataclasses import dataclass, field
from http import HTTPStatus

from proofsweep.domain.exchanges import Call, Exchange, may_be_outage

FAILURES_IN_A_ROW = 10  # of one call
FAILING_SECONDS = 2.0  # for so long at least: a burst of files that fail alike is answered beside others
FIRST_WAIT_SECONDS = 10.0  # between the first two probes; the waits double
_LONGEST_WAITS = 6  # up to so many first ones: 10 to 60 s
_CALLS_FOR_ITEMS = frozenset({Call.ASSET, Call.UPLOADS, Call.SLOT, Call.VERIFY})


@dataclass(slots=True)
class CircuitBreaker:
    is_open: bool = False
    due_at: float = -math.inf  # when the next probe may go; one that was answered holds until then
    is_outage: bool = False  # a probe has failed since it opened
    _probes: int = 0
    _failing: dict[Call, tuple[int, float]] = field(default_factory=dict)  # how many failed in a row, since when

    def record(self, exchange: Exchange, now: float) -> bool:
        """Record a call for an item. Return whether calls fail for so many items that the circuit should open."""
        call = exchange.call
        if exchange.is_throttled or call not in _CALLS_FOR_ITEMS:
            return False
        is_refused_key = call.is_keyed and exchange.status == HTTPStatus.FORBIDDEN
        if exchange.is_success or not (is_refused_key or may_be_outage(exchange)):
            self._failing.pop(call, None)
            return False
        failures, since = self._failing.get(call, (0, now))
        self._failing[call] = failures + 1, since
        return failures + 1 >= FAILURES_IN_A_ROW and now - since >= FAILING_SECONDS

    def open(self, now: float) -> bool:
        """Open the circuit, unless it is open or a probe was answered just now. Return whether it was opened."""
        if self.is_open or now < self.due_at:
            return False
        self.is_open = True
        return True

    def begin_probe(self, now: float) -> None:
        if now - self.due_at > _LONGEST_WAITS * FIRST_WAIT_SECONDS:  # the last one is long ago
            self._probes = 0
        self.due_at = now + FIRST_WAIT_SECONDS * min(2**self._probes, _LONGEST_WAITS)
        self._probes = min(self._probes + 1, _LONGEST_WAITS)

    def probe_failed(self) -> None:
        self.is_open = self.is_outage = True

    def close(self) -> None:
        """Let all calls go again, and forget the failures."""
        self.is_open = self.is_outage = False
        self._failing.clear()
