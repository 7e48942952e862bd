"""How much of the key's quota a leg has spent, and whether another item may begin (contract, Limits)."""

import math
import threading
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, RunMustStop
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.items import proof_id_of
from proofsweep.domain.runs import Bounds
from proofsweep.domain.text import reset_clause

if TYPE_CHECKING:  # what reads a store starts without it
    from proofsweep.client.client import Partner

CALLS_OF_A_FILE: AbstractSet[Call] = frozenset({Call.UPLOADS, Call.VERIFY})
CALLS_OF_A_PROOF = CALLS_OF_A_FILE | {Call.ASSET}
LAST_PROBE_CALLS = 1  # kept for the last probe of the headroom, which a leg makes when it ends
CALLS_TO_BEGIN = len(CALLS_OF_A_FILE) + LAST_PROBE_CALLS  # a quota with less begins no item
_MIN_CALLS_BETWEEN_SNAPSHOTS = 50  # that show what a call costs: one call of another user changes it by 2 %
# Between what the cost of a call is believed to lie. The count at the edge may lag, but one of an item's two calls is
# charged; a service may charge the upload to storage too, or a call twice. What is beyond was spent by others.
_MIN_CALL_COST, _MAX_CALL_COST = 0.5, 2.0
_MIN_SECONDS_BETWEEN_SNAPSHOTS = 1.0  # in less, a few calls that were counted early look like hundreds a second
_NO_ROW = -1


def calls_of(audio: str) -> AbstractSet[Call]:
    """Return which keyed calls an item needs, by the location of its audio."""
    return CALLS_OF_A_FILE if proof_id_of(audio) is None else CALLS_OF_A_PROOF


@dataclass(slots=True)
class Budget:
    """What one leg may spend and has spent. An item in flight is owed the calls that it still needs.

    The partner's headroom is the authority. Between two snapshots of it, each call that was sent is counted at the last
    known cost of a call, which includes what is not charged. What others spend is counted by time, at their last known
    rate: it does not depend on this leg's calls. Every `now` is monotonic seconds of one clock.
    """

    bounds: Bounds = field(default_factory=Bounds)
    kept: int = LAST_PROBE_CALLS  # calls that no item may use
    spent: int = 0  # keyed calls of this leg
    reset: datetime | None = None  # when the quota resets, by the last snapshot
    _owed: dict[int, set[Call]] = field(default_factory=dict)
    _headroom: int | None = None
    _snapshot_at: float = 0.0
    _spent_at_snapshot: int = 0
    _cost: float = 1.0
    _others_per_second: float = 0.0

    def begin(self, row: int, calls: AbstractSet[Call] = CALLS_OF_A_FILE) -> None:
        self._owed[row] = set(calls)

    def note(self, exchange: Exchange, row: int | None) -> None:
        if not exchange.is_charged:
            return
        self.spent += 1
        self._spent_at_snapshot += exchange.call is Call.USAGE  # its own answer includes it
        if row is not None:
            self._owed.get(row, set()).discard(exchange.call)

    def end(self, row: int) -> None:
        self._owed.pop(row, None)

    @property
    def in_flight(self) -> int:
        return len(self._owed)

    @property
    def owed(self) -> int:
        """How many calls the items in flight still need."""
        return sum(map(len, self._owed.values()))

    @property
    def left(self) -> int | None:
        """How many calls this leg should have left in the quota, if others spent none; None without a snapshot."""
        return None if self._headroom is None else max(0, self._headroom - round(self._cost * self._since_snapshot))

    @property
    def is_probe_due(self) -> bool:
        """Whether enough was spent since the last snapshot to make the estimate uncertain."""
        return self._headroom is not None and self._since_snapshot >= _MIN_CALLS_BETWEEN_SNAPSHOTS

    @property
    def can_probe(self) -> bool:
        """Whether a call is left for a probe, besides the last probe and what the items in flight need.

        A probe corrects an estimate that is too low, so this counts no more than this leg's calls, at one each.
        """
        return self._shortage_for(1 + self.kept, min(1.0, self._cost), sharers=1) is None

    def take_snapshot(
        self, headroom: int | None, reset: datetime | None, spent_before: int, *, now: float = 0.0
    ) -> None:
        """Take over the partner's figures; `spent_before` is what `spent` was before the probe was sent, at `now`.

        Calls that ended during the probe count as not included in them.
        """
        if headroom is None:
            return
        if self._headroom is not None and headroom <= self._headroom:
            fell_by, calls = self._headroom - headroom, spent_before - self._spent_at_snapshot
            if fell_by > 0 and calls >= _MIN_CALLS_BETWEEN_SNAPSHOTS:
                self._cost = min(_MAX_CALL_COST, max(_MIN_CALL_COST, fell_by / calls))
            by_others = max(0.0, fell_by - self._cost * calls)
            self._others_per_second = by_others / max(_MIN_SECONDS_BETWEEN_SNAPSHOTS, now - self._snapshot_at)
        self._headroom, self.reset = headroom, reset
        self._spent_at_snapshot, self._snapshot_at = spent_before, now

    def shortage(self, now: float = 0.0, calls: AbstractSet[Call] = CALLS_OF_A_FILE) -> EndedBy | None:
        """Return how the leg ends because no other item that needs these calls may begin; None if one may."""
        others = self._others_per_second * max(0.0, now - self._snapshot_at)
        needed = len(calls) + self.kept + self.is_probe_due
        return self._shortage_for(needed, self._cost, others, sharers=self.bounds.sharers)

    @property
    def _since_snapshot(self) -> int:
        return self.spent - self._spent_at_snapshot

    def _shortage_for(self, calls: int, cost: float, others: float = 0.0, *, sharers: int) -> EndedBy | None:
        needed = self.owed + calls
        if self.bounds.max_calls is not None and self.spent + needed > self.bounds.max_calls:
            return EndedBy.WINDOW
        if self._headroom is None:
            return None
        share = (self._headroom - others - self.bounds.reserve) / sharers
        return EndedBy.QUOTA if share < cost * (self._since_snapshot + needed) else None


@dataclass(slots=True)
class BudgetGuard:
    """A leg's budget, safe to use from threads. When it runs out, items in flight are finished and the leg stops."""

    bounds: Bounds
    partner: "Partner"
    stop: StopSwitch
    clock: Callable[[], datetime]  # a window closes by the wall clock
    probe_seconds: float = math.inf  # between two probes of the quota
    kept: int = LAST_PROBE_CALLS  # calls that no item may use
    uptime: Callable[[], float] = time.monotonic  # all else is decided by time that never jumps
    _budget: Budget = field(init=False)
    ran_out: RunMustStop | None = None  # why no other item may begin
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _probing: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._budget = Budget(self.bounds, self.kept)

    @property
    def quota_reset(self) -> datetime | None:
        return self._budget.reset

    @property
    def left(self) -> int | None:
        """How many calls should be left in the key's quota; None if the service did not say."""
        with self._lock:
            return self._budget.left

    @property
    def in_flight(self) -> int:
        return self._budget.in_flight

    def admits(self, row: int, calls: AbstractSet[Call] = CALLS_OF_A_FILE) -> bool:
        """Whether an item that needs these calls may begin; `release` it afterwards."""
        self.stop_at_closing()
        if self.stop.reason is not None or self.ran_out is not None:
            return False
        shortage = self._begin(row, calls)
        if shortage is EndedBy.QUOTA:
            shortage = self._begin_after_probe(row, calls)
        elif shortage is not None:
            self._run_out(shortage)
        return shortage is None

    def admits_control(self) -> bool:
        """Whether a control may be made; `release` its row afterwards.

        It may use calls that are kept for items in flight, since these wait for it.
        """
        self.stop_at_closing()
        if self.stop.reason is not None:
            return False
        shortage = self._begin(_NO_ROW, CALLS_OF_A_FILE)
        if shortage is EndedBy.QUOTA and not self._budget.in_flight:
            self.probe()
            shortage = self._begin(_NO_ROW, CALLS_OF_A_FILE)
        return shortage is None or self._budget.in_flight > 0

    def release(self, row: int) -> None:
        """Take note that an item has ended; the last one in flight ends a leg that has run out."""
        with self._lock:
            self._budget.end(row)
        self._stop_when_idle()

    def note(self, exchange: Exchange, row: int | None) -> None:
        with self._lock:
            self._budget.note(exchange, row)

    def take_snapshot(self, headroom: int | None, reset: datetime | None) -> None:
        """Take what the service said of the quota before the leg began; that exchange is noted afterwards."""
        with self._lock:
            self._budget.take_snapshot(headroom, reset, self._budget.spent, now=self.uptime())

    def probe(self) -> None:
        """Ask for the headroom if a call is left for that; without an answer the count so far stands."""
        with self._probing:
            if self._budget.can_probe:
                self._probe()

    def keep_probing(self, over: threading.Event) -> None:
        """Probe the headroom from time to time (contract, Versioning 7: about every five minutes)."""
        while not over.wait(min(self.probe_seconds, threading.TIMEOUT_MAX)):
            self.probe()

    def stop_at_closing(self) -> None:
        closes_at = self.bounds.closes_at
        if closes_at is not None and self.clock() >= closes_at:
            self.stop.pull(
                RunMustStop(f"The window closed at {closes_at:%Y-%m-%d %H:%M:%S} UTC.", ended_by=EndedBy.WINDOW)
            )

    def _begin(self, row: int, calls: AbstractSet[Call]) -> EndedBy | None:
        with self._lock:
            shortage = self._budget.shortage(self.uptime(), calls)
            if shortage is None:
                self._budget.begin(row, calls)
            return shortage

    def _begin_after_probe(self, row: int, calls: AbstractSet[Call]) -> EndedBy | None:
        """Probe the quota before the leg gives up: the estimate is too low if others have stopped spending."""
        with self._probing:
            if self.ran_out is not None:
                return EndedBy.QUOTA
            shortage = self._begin(row, calls)  # another thread may have probed meanwhile
            if shortage is EndedBy.QUOTA and self._budget.can_probe:
                self._probe()
                shortage = self._begin(row, calls)
            if shortage is not None:
                self._run_out(shortage)
            return shortage

    def _probe(self) -> None:
        with self._lock:
            spent, sent_at = self._budget.spent, self.uptime()
        try:
            headers = self.partner.with_attempts(1).usage(days=1)[1]
        except (CallFailed, RunMustStop):
            return
        with self._lock:
            self._budget.take_snapshot(headers.rate_remaining, headers.rate_reset, spent, now=sent_at)

    def _run_out(self, shortage: EndedBy) -> None:
        with self._lock:
            self.ran_out = self.ran_out or RunMustStop(self._sentence(shortage), ended_by=shortage)
        self._stop_when_idle()

    def _stop_when_idle(self) -> None:
        with self._lock:
            if self.ran_out is not None and not self._budget.in_flight:
                self.stop.pull(self.ran_out)

    def _sentence(self, shortage: EndedBy) -> str:
        bounds, left = self.bounds, self._budget.left or 0
        if shortage is EndedBy.WINDOW:
            return f"Of the {bounds.max_calls:,} calls that it was given, none are left for another."
        left_at_the_end = max(0, left - self._budget.owed)
        when = reset_clause(self._budget.reset, self.clock())
        return f"Calls left in the key's quota: {left_at_the_end:,}, reserved: {bounds.reserve:,}; {when}."
