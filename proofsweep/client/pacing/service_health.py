"""Does the service answer, and if not, is the item or the service to blame? Pure: the time is an argument.

Each call has a state of its own, since a service may give slots and still verify nothing.

    state     meaning                                        what the dispatcher does
    well      the last exchange was an answer or a 429       lets calls go at the pacer's pace
    failing   fewer than `breaker_failures` in a row         the same
    outage    `breaker_failures` in a row, or more           one call at a time, after quiet times that double
    lost      an outage that lasts `breaker_seconds`, or     ends the leg
              waits of more than `longest_pause_seconds`

    event              well        failing               outage
    answered, or 429   well        well                  well
    failed             failing     failing, or outage    outage, or lost
    told to wait       as it was, or lost                as it was, or lost

An answer makes a lost call well again; a leg that has ended stays ended.
"""

import math
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import StrEnum

from proofsweep.client.retry import may_be_outage
from proofsweep.domain.exchanges import Call, Exchange

# The longest time between two probes. Chosen: half doubles the probes; twice finds the end of an outage later.
_LONGEST_QUIET_SECONDS = 60.0
_CALLS_FOR_ITEMS = frozenset({Call.ASSET, Call.UPLOADS, Call.SLOT, Call.VERIFY})


class Health(StrEnum):
    """How a call does; the table above says what each state means."""

    WELL = "well"
    FAILING = "failing"
    OUTAGE = "outage"
    LOST = "lost"


class Culprit(StrEnum):
    """Who causes the failures of one item; unknown while nobody else asks."""

    ITEM = "item"
    SERVICE = "service"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class _CallHealth:
    """What is known of one call; times are monotonic seconds.

    Attributes:
        failures: in a row, of any items.
        probes: failures that ended a quiet time. Calls that were in flight together count once.
        quiet_until: no call needs to go before.
        waits_since: the first "wait" since the last answer that was not a 429; a refusal is an answer too.
    """

    failures: int = 0
    failing_since: float = -math.inf
    probes: int = 0
    quiet_until: float = -math.inf
    waits_since: float | None = None
    answered_at: float = -math.inf


@dataclass(slots=True, kw_only=True)
class ServiceHealth:
    """Watches each call for all items; every `now` and `since` is monotonic seconds of one clock.

    Attributes:
        breaker_failures: failures in a row that make an outage; as many items that fail at once are not to blame.
        breaker_seconds: how long an outage may last.
        longest_pause_seconds: how long the service may make a call wait.
    """

    breaker_failures: int = 10
    breaker_seconds: float = 20.0
    longest_pause_seconds: float = 120.0
    _calls: defaultdict[Call, _CallHealth] = field(default_factory=lambda: defaultdict(_CallHealth))
    _failing: set[Hashable] = field(default_factory=set)

    def note(self, exchange: Exchange, holder: Hashable, now: float) -> Health:
        """Take note of an exchange of some item; give the state of its call."""
        call = self._calls[exchange.call]
        if exchange.status is not None and not exchange.is_throttled:
            call.waits_since = None
        if may_be_outage(exchange):
            self._failing.add(holder)
            return self._failed(call, now) if exchange.call in _CALLS_FOR_ITEMS else Health.WELL
        self._failing.discard(holder)
        call.failures, call.probes, call.quiet_until = 0, 0, -math.inf
        if not exchange.is_throttled:
            call.answered_at = now
        return Health.WELL

    def told_to_wait(self, call: Call, wait_seconds: float, now: float) -> bool:
        """Take note that the service asks for a wait; say whether the call is lost by that."""
        health = self._calls[call]
        if health.waits_since is None:
            health.waits_since = now
        return max(now - health.waits_since, wait_seconds) > self.longest_pause_seconds

    def forget(self, holder: Hashable) -> None:
        """Take note that an item is over."""
        self._failing.discard(holder)

    def blame(self, exchange: Exchange, since: float) -> Culprit:
        """Say who is to blame for an exchange of an item whose call has failed since then."""
        if exchange.call not in _CALLS_FOR_ITEMS or not may_be_outage(exchange):
            return Culprit.ITEM
        if self._calls[exchange.call].answered_at >= since:
            return Culprit.ITEM
        return Culprit.SERVICE if len(self._failing) >= self.breaker_failures else Culprit.UNKNOWN

    def is_lost(self, since: float, now: float) -> bool:
        """Say whether an item's call that the service fails has failed for too long."""
        return now - since >= self.breaker_seconds

    @property
    def is_outage(self) -> bool:
        """Say whether some call is in an outage."""
        return any(call.failures >= self.breaker_failures for call in self._calls.values())

    def quiet_seconds(self, now: float) -> float:
        """Give the time from now in which no call needs to go; not above zero when there is none."""
        return max((call.quiet_until - now for call in self._calls.values()), default=0.0)

    def _failed(self, call: _CallHealth, now: float) -> Health:
        if call.failures == 0:
            call.failing_since = now
        call.failures += 1
        if call.failures < self.breaker_failures:
            return Health.FAILING
        left_seconds = call.failing_since + self.breaker_seconds - now
        if now >= call.quiet_until:
            quiet_seconds = min(_LONGEST_QUIET_SECONDS, 2.0**call.probes, max(0.0, left_seconds))
            call.probes, call.quiet_until = call.probes + 1, now + quiet_seconds
        return Health.LOST if left_seconds <= 0.0 else Health.OUTAGE
