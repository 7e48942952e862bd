"""How the service does for all items together: failures in a row, and how long it makes calls wait. Pure."""

from collections import defaultdict
from dataclasses import dataclass, field

from proofsweep.model.exchanges import Call, Exchange, may_be_outage

# So many failures of a call in a row ask for a control. Chosen: any value from 5 to 20 does.
FAILURES_IN_A_ROW = 10
_CALLS_FOR_ITEMS = frozenset({Call.ASSET, Call.UPLOADS, Call.SLOT, Call.VERIFY})


@dataclass(slots=True, kw_only=True)
class ServiceHealth:
    """Watches each call for all items: a service may give slots and verify nothing. Times are monotonic seconds."""

    longest_pause_seconds: float = 120.0  # how long the service may make a call wait
    _failures: defaultdict[Call, int] = field(default_factory=lambda: defaultdict(int))
    _waits_since: dict[Call, float] = field(default_factory=dict)

    def note(self, exchange: Exchange) -> None:
        """Take note of an exchange of some item. A 429 is neither an answer nor a failure."""
        if exchange.is_throttled:
            return
        if exchange.status is not None:
            self._waits_since.pop(exchange.call, None)
        if not may_be_outage(exchange):
            self._failures[exchange.call] = 0
        elif exchange.call in _CALLS_FOR_ITEMS:
            self._failures[exchange.call] += 1

    def is_doubtful(self, call: Call) -> bool:
        """Whether this call has failed so often in a row that a control must say whose fault it is."""
        return self._failures[call] >= FAILURES_IN_A_ROW

    def trust(self) -> None:
        """Count anew: a control came out right."""
        self._failures.clear()

    def told_to_wait(self, call: Call, wait_seconds: float, now: float) -> bool:
        """Take note that the service asks for a wait. Whether it has made this call wait for too long."""
        since = self._waits_since.setdefault(call, now)
        return max(now - since, wait_seconds) > self.longest_pause_seconds
