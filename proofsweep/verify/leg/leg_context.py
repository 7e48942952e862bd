"""One leg as the threads of a process share it: what remains to be done, and what that needs."""

import threading
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property

from proofsweep.model.items import WorkItem
from proofsweep.model.runs import LegProgress, Plan, Slice, slices_of
from proofsweep.model.tables.verdicts import RowContext
from proofsweep.partner.pacing.dispatcher import Dispatcher, LaneStatus
from proofsweep.partner.stop import StopSwitch
from proofsweep.store.journal import Journal
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.receipts import Part
from proofsweep.verify.budget.budget_guard import BudgetGuard
from proofsweep.verify.control.control import Control
from proofsweep.verify.item.verify_item import VerifyContext
from proofsweep.verify.leg.audit_trail import AuditTrail, Counters
from proofsweep.verify.leg.heartbeat import Heartbeat


class RemainingItems:
    """Read from the store: the items of the shards less the rows of the parts. Safe to use from several threads."""

    def __init__(self, results: Results, plan: Plan) -> None:
        self._results = results
        self._plan = plan
        self._first_shard: Sequence[WorkItem] | None = None
        self._lock = threading.Lock()

    @cached_property
    def _parts(self) -> dict[int, list[Part]]:
        """The parts of the legs before this one; they have all ended, so nothing is added."""
        return self._results.verdicts_by_shard(self._plan)

    @property
    def count(self) -> int:
        """How many rows remained when the leg began."""
        return self._plan.items - sum(part.rows for parts in self._parts.values() for part in parts)

    def slices(self) -> list[Slice]:
        """Cut what remains into Prefect tasks."""
        plan, parts = self._plan, self._parts
        shards = range(plan.shards)
        unfinished = {shard for shard in shards if not self._results.is_finished(plan, shard, parts.get(shard, []))}
        pieces = [piece for piece in slices_of(plan) if piece.shard in unfinished]
        return [piece for piece in pieces if any(self.items(piece))] if self._plan.shards == 1 else pieces

    def all_items(self) -> Iterator[WorkItem]:
        """Return all items that remain."""
        return (item for piece in self.slices() for item in self.items(piece))

    def items(self, piece: Slice) -> Iterator[WorkItem]:
        """Return the items of a slice that remain, one by one. A run of one shard reads it once, for all its slices."""
        wanted = self.rows(piece)
        if self._plan.shards > 1:
            return (item for item in self._items_of_shard(piece.shard) if item.manifest_row in wanted)
        with self._lock:
            if self._first_shard is None:
                self._first_shard = list(self._items_of_shard(0))
        return (item for item in self._first_shard if item.manifest_row in wanted)

    def rows(self, piece: Slice) -> range:
        """Return the rows of a slice, whether they remain or not."""
        first = piece.shard * self._plan.shard_items
        return range(first + piece.first, first + piece.last)

    def _items_of_shard(self, shard: int) -> Iterator[WorkItem]:
        finished = self._results.rows_in(self._parts.get(shard, []))
        items = self._results.each_shard_item(self._plan.run_id, shard)
        return (item for item in items if item.manifest_row not in finished)


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
    def progress(self) -> LegProgress:
        """What a display shows of it."""
        lane = self.lane
        return LegProgress(
            counts=self.counters.rows,
            sent_bytes=self.counters.audio_bytes,
            rate=lane.rate,
            most_at_once=lane.most,
            is_outage=lane.is_outage,
            is_stopping=self.stop.reason is not None,
        )

    @property
    def lane(self) -> LaneStatus:
        """What is known of the lane, by this process or by all worker processes of the leg."""
        return self.counters.lane or self.dispatcher.status()
