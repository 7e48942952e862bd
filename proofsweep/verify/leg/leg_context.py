"""One leg as the threads of a process share it: data, and no work."""

from collections.abc import Set as AbstractSet
from concurrent.futures import Executor
from dataclasses import dataclass

from proofsweep.model.runs import Plan
from proofsweep.model.tables.verdicts import RowContext
from proofsweep.partner.pacing.dispatcher import Dispatcher, LaneStatus
from proofsweep.partner.stop import StopSwitch
from proofsweep.store.journal import Journal
from proofsweep.store.plans_and_parts import Results
from proofsweep.verify.budget.budget_guard import BudgetGuard
from proofsweep.verify.control.control import Control
from proofsweep.verify.item.verify_item import VerifyContext
from proofsweep.verify.leg.audit_trail import AuditTrail, Counters
from proofsweep.verify.leg.heartbeat import Heartbeat
from proofsweep.verify.leg.remaining import RemainingItems


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LegContext:
    """What the work on one leg needs.

    Attributes:
        workers: the threads of this process; the items of two shards share them.
        dispatcher: decides when a call may go; knows the lane.
        verify: what each item is verified with.
        remaining: what no leg has finished yet.
        budget: lets items begin while calls and time are left for them.
        control: writes rows down, but those whose outcome is in doubt.
        trail: writes down each exchange.
        heartbeat: keeps the leg alive, and knows whether the results store can be written.
        counters: what was done so far, for a progress display.
        in_doubt_before: rows that were in doubt when the last leg ended; they come last.
        row_context: what all rows of this leg share.
    """

    plan: Plan
    leg: int
    results: Results
    journal: Journal
    stop: StopSwitch
    workers: Executor
    dispatcher: Dispatcher
    verify: VerifyContext
    remaining: RemainingItems
    budget: BudgetGuard
    control: Control
    trail: AuditTrail
    heartbeat: Heartbeat
    counters: Counters
    row_context: RowContext
    in_doubt_before: AbstractSet[int] = frozenset()

    def __repr__(self) -> str:
        """Return its run and number alone: an orchestrator may show what a task is given."""
        return f"LegContext(run_id={self.plan.run_id!r}, leg={self.leg})"

    @property
    def lane(self) -> LaneStatus:
        """What is known of the lane, by this process or by all worker processes of the leg."""
        return self.counters.lane or self.dispatcher.status()
