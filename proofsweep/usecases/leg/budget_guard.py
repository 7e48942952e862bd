"""Let an item begin only while the leg's bounds and the key's quota leave it what it needs."""

import threading
from collections.abc import Callable
from datetime import datetime

from proofsweep.client.partner import Partner
from proofsweep.client.stop import StopSwitch
from proofsweep.domain.budget.bounds import Bounds
from proofsweep.domain.budget.budget import Budget, Shortage, reset_clause
from proofsweep.domain.exchanges import Exchange
from proofsweep.errors import CallFailed, RunMustStop


class BudgetGuard:
    """Thread-safe front of the ledger. When it runs out, what has begun is finished and then the leg stops."""

    def __init__(self, bounds: Bounds, partner: Partner, stop: StopSwitch, clock: Callable[[], datetime]) -> None:
        self._ledger = Budget(bounds)
        self._partner = partner
        self._stop = stop
        self._clock = clock
        self._lock = threading.Lock()
        self._asking = threading.Lock()
        self._ran_out: RunMustStop | None = None

    @property
    def ran_out(self) -> bool:
        """Say whether the leg ends by its own account."""
        return self._ran_out is not None

    @property
    def quota_reset(self) -> datetime | None:
        """When the quota begins anew, as it was last told."""
        return self._ledger.reset

    def admits(self, row: int) -> bool:
        """Say whether an item may begin; it must `leave` afterwards."""
        self.stop_at_closing()
        if self._stop.reason is not None or self._ran_out is not None:
            return False
        shortage = self._begin(row)
        if shortage is Shortage.QUOTA:
            with self._asking:
                if self._ledger.is_probe_due and self._ledger.can_probe:
                    self._ask()
                shortage = self._begin(row)
        if shortage is not None:
            self._run_out(shortage)
        return shortage is None

    def leave(self, row: int) -> None:
        """Take note that an item has ended; the last one in flight ends a leg that has run out."""
        with self._lock:
            self._ledger.end(row)
        self._stop_when_idle()

    def note(self, exchange: Exchange, row: int | None) -> None:
        """Take an exchange of an item, or of none, into account."""
        with self._lock:
            self._ledger.note(exchange, row)

    def was_told(self, headroom: int | None, reset: datetime | None) -> None:
        """Take over what the partner said before the leg began; its exchange is noted afterwards."""
        with self._lock:
            self._ledger.take_snapshot(headroom, reset, self._ledger.spent)

    def ask(self) -> None:
        """Ask the partner for the headroom if a call is left for that; without an answer the count so far goes on."""
        with self._asking:
            if self._ledger.can_probe:
                self._ask()

    def probe_every(self, seconds: float) -> Callable[[threading.Event], None]:
        """Give the work of a thread that asks from time to time (contract, Versioning 7: about every five minutes)."""

        def work(over: threading.Event) -> None:
            while not over.wait(seconds):
                self.ask()

        return work

    def stop_at_closing(self) -> None:
        """Stop the leg if its window has closed."""
        closes_at = self._ledger.bounds.closes_at
        if closes_at is not None and self._clock() >= closes_at:
            self._stop.pull(RunMustStop(f"The window closed at {closes_at:%Y-%m-%d %H:%M:%S} UTC.", ended_by="window"))

    def _begin(self, row: int) -> Shortage | None:
        with self._lock:
            shortage = self._ledger.shortage()
            if shortage is None:
                self._ledger.begin(row)
            return shortage

    def _ask(self) -> None:
        with self._lock:
            spent = self._ledger.spent
        try:
            headers = self._partner.with_attempts(1).usage(days=1)[1]
        except (CallFailed, RunMustStop):
            return
        with self._lock:
            self._ledger.take_snapshot(headers.rate_remaining, headers.rate_reset, spent)

    def _run_out(self, shortage: Shortage) -> None:
        with self._lock:
            self._ran_out = self._ran_out or RunMustStop(self._sentence(shortage), ended_by=shortage)
        self._stop_when_idle()

    def _stop_when_idle(self) -> None:
        with self._lock:
            if self._ran_out is not None and not self._ledger.in_flight:
                self._stop.pull(self._ran_out)

    def _sentence(self, shortage: Shortage) -> str:
        bounds, left = self._ledger.bounds, self._ledger.left or 0
        if shortage is Shortage.CALLS:
            return f"Of the {bounds.max_calls:,} calls that it was given, none are left for another file."
        left_in_the_end = max(0, left - self._ledger.owed)
        when = reset_clause(self._ledger.reset, self._clock())
        return f"Calls left in the key's quota: {left_in_the_end:,}, reserved: {bounds.reserve:,}; {when}."
