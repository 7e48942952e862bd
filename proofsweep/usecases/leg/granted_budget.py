"""The budget of a worker process: what the process that holds the leg has granted it."""

import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from proofsweep.client.partner import Partner
from proofsweep.client.stop import StopSwitch
from proofsweep.domain.budget.bounds import Bounds
from proofsweep.domain.budget.budget import CALLS_OF_A_FILE, LAST_PROBE_CALLS
from proofsweep.domain.exchanges import Call
from proofsweep.domain.worker_processes import GRANT_SECONDS
from proofsweep.errors import RunMustStop
from proofsweep.usecases.leg.budget_guard import BudgetGuard

# How soon an item begins after its calls were granted. Chosen: half wakes the waiting threads twice as often, twice is
# a tenth of the time between two orders.
_CHECK_SECONDS = 0.1


class GrantedBudget(BudgetGuard):
    """Lets an item begin while granted calls are left for it; else the item waits. Safe to use from several threads.

    A grant is good for `GRANT_SECONDS`. When no orders come, the process that holds the leg may be dead, and another
    process may soon take the leg over: then nothing begins.
    """

    def __init__(
        self,
        bounds: Bounds,
        partner: Partner,
        stop: StopSwitch,
        clock: Callable[[], datetime],
        *,
        uptime: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the leg's bounds; of those only the window counts here."""
        super().__init__(Bounds(max_calls=0, closes_at=bounds.closes_at), partner, stop, clock, uptime=uptime)
        self._granted: int | None = 0
        self._returned = 0
        self._waiting = 0
        self._calls_of_an_item = len(CALLS_OF_A_FILE)
        self._good_until = uptime()

    @property
    def spent(self) -> int:
        """Keyed calls that this process made."""
        return self._budget.spent

    @property
    def is_waiting(self) -> bool:
        """Say whether an item waits for calls."""
        return self._waiting > 0

    def admits(self, row: int, calls: AbstractSet[Call] = CALLS_OF_A_FILE) -> bool:
        """Wait until an item may begin, and say that it may; False when the leg ends."""
        with self._lock:
            self._waiting += 1
            self._calls_of_an_item = max(self._calls_of_an_item, len(calls))
        try:
            with suppress(RunMustStop):
                while not self._has_begun(row, calls):
                    self._stop.rest(_CHECK_SECONDS)
                return True
            return False
        finally:
            with self._lock:
                self._waiting -= 1

    def grant(self, calls: int | None) -> None:
        """Take new orders: the calls that were granted so far, or None for any number."""
        with self._lock:
            self._good_until = self._uptime() + GRANT_SECONDS
            self._granted = calls
            self._limit()

    @property
    def is_dry(self) -> bool:
        """Say whether no item may begin now."""
        with self._lock:
            is_short = self._granted is not None and self._left < self._calls_of_an_item
            return is_short or self._uptime() >= self._good_until

    def hand_back(self, *, is_idle: bool) -> int:
        """Return calls that are not used now: this process has no task, or they are too few for an item.

        Gives the number of calls that were returned so far.
        """
        with self._lock:
            if self._left > 0 and (is_idle or self._left < self._calls_of_an_item):
                self._returned += self._left
                self._limit()
            return self._returned

    @property
    def _left(self) -> int:
        """The granted calls that nothing needs yet; 0 if any number is granted."""
        budget = self._budget
        return 0 if self._granted is None else self._granted - self._returned - budget.spent - budget.owed

    def _has_begun(self, row: int, calls: AbstractSet[Call]) -> bool:
        self.stop_at_closing()
        self._stop.check()
        return self._uptime() < self._good_until and self._begin(row, calls) is None

    def _limit(self) -> None:
        """Bound the calls; the last probe of the quota is not made by this process."""
        most = None if self._granted is None else self._granted - self._returned + LAST_PROBE_CALLS
        self._budget.bounds = replace(self._budget.bounds, max_calls=most)
