"""Let an item begin only while the leg's bounds and the key's quota leave it what it needs."""

import math
import threading
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime

from proofsweep.client.client import Partner
from proofsweep.client.stop import StopSwitch
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, RunMustStop
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.runs import Bounds
from proofsweep.domain.text import reset_clause
from proofsweep.verify.budget import CALLS_OF_A_FILE, CALLS_OF_A_PROOF, Budget

_NO_ROW = -1


@dataclass(slots=True)
class BudgetGuard:
    """A leg's budget, safe to use from threads. When it runs out, items in flight are finished and the leg stops."""

    bounds: Bounds
    partner: Partner
    stop: StopSwitch
    clock: Callable[[], datetime]  # a window closes by the wall clock
    probe_seconds: float = math.inf  # between two probes of the quota
    uptime: Callable[[], float] = time.monotonic  # all else is decided by time that never jumps
    _budget: Budget = field(init=False)
    _ran_out: RunMustStop | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _probing: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._budget = Budget(self.bounds)

    @property
    def ran_out(self) -> bool:
        return self._ran_out is not None

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
        if self.stop.reason is not None or self._ran_out is not None:
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

    def count_slice(self, *, granted: int = 0, spent: int = 0) -> None:
        """Take note of calls that are granted to a worker process, or are back, and of calls that were made."""
        with self._lock:
            self._budget.granted += granted
            self._budget.spent += spent

    def grantable(self) -> int | None:
        """Return how many calls may be granted to a worker process; None for any number.

        The leg stops if none are granted and none are left.
        """
        if not self._budget.granted and self.admits(_NO_ROW, CALLS_OF_A_PROOF):
            self.release(_NO_ROW)
        with self._lock:
            return self._budget.grantable(self.uptime())

    def _begin(self, row: int, calls: AbstractSet[Call]) -> EndedBy | None:
        with self._lock:
            shortage = self._budget.shortage(self.uptime(), calls)
            if shortage is None:
                self._budget.begin(row, calls)
            return shortage

    def _begin_after_probe(self, row: int, calls: AbstractSet[Call]) -> EndedBy | None:
        """Probe the quota before the leg gives up: the estimate is too low if others have stopped spending."""
        with self._probing:
            if self._ran_out is not None:
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
            self._ran_out = self._ran_out or RunMustStop(self._sentence(shortage), ended_by=shortage)
        self._stop_when_idle()

    def _stop_when_idle(self) -> None:
        with self._lock:
            if self._ran_out is not None and not self._budget.in_flight:
                self.stop.pull(self._ran_out)

    def _sentence(self, shortage: EndedBy) -> str:
        bounds, left = self.bounds, self._budget.left or 0
        if shortage is EndedBy.WINDOW:
            return f"Of the {bounds.max_calls:,} calls that it was given, none are left for another file."
        left_at_the_end = max(0, left - self._budget.owed)
        when = reset_clause(self._budget.reset, self.clock())
        return f"Calls left in the key's quota: {left_at_the_end:,}, reserved: {bounds.reserve:,}; {when}."
