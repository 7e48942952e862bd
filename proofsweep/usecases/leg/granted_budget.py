"""The budget of a worker process: the calls that came with the slices it works on."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from proofsweep.client.partner import Partner
from proofsweep.client.stop import StopSwitch
from proofsweep.domain.budget.bounds import Bounds
from proofsweep.domain.budget.budget import LAST_PROBE_CALLS, Shortage
from proofsweep.usecases.leg.budget_guard import BudgetGuard

_ANY_NUMBER = 10**12


class GrantedBudget(BudgetGuard):
    """Lets items begin while granted calls are left; else they remain, and their slice comes back.

    Attributes:
        refused: how many items could not begin so far.
    """

    def __init__(self, bounds: Bounds, partner: Partner, stop: StopSwitch, clock: Callable[[], datetime]) -> None:
        """Take the leg's bounds; of those only the window counts here."""
        super().__init__(Bounds(closes_at=bounds.closes_at), partner, stop, clock)
        self.refused = 0
        self._granted = self._reported = 0
        self.take(0)

    def take(self, calls: int | None) -> None:
        """Add the calls of a slice; None for any number."""
        with self._lock:
            self._grant(_ANY_NUMBER if calls is None else calls)

    def hand_back(self, calls: int | None) -> int:
        """End a slice that came with so many calls: what is left of them goes. Give the calls made since last time."""
        with self._lock:
            made, self._reported = self._budget.spent - self._reported, self._budget.spent
            left = self._granted - self._budget.spent - self._budget.owed
            self._grant(-max(0, min(left, _ANY_NUMBER if calls is None else calls)))
            return made

    def _grant(self, more: int) -> None:
        """Change the bound; the last probe of the quota is not made by this process."""
        self._granted += more
        self._budget.bounds = replace(self._budget.bounds, max_calls=self._granted + LAST_PROBE_CALLS)

    def _run_out(self, shortage: Shortage) -> None:  # noqa: ARG002 - only calls can run out here
        """Let the item remain: the process that holds the leg decides whether calls are left."""
        with self._lock:
            self.refused += 1
