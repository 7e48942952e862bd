"""One leg as the threads of a process share it: what remains to be done, and what that needs."""

import threading
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property

from proofsweep.model.items import WorkItem
from proofsweep.model.progress import LEAST_PAUSE_SECONDS, LegProgress, WaitsFor
from proofsweep.model.runs import Plan, Slice, slices_of
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
from proofsweep.verify.leg.progress_meter import ProgressMeter

# While it waits for these, nobody knows how long it takes.
_NO_ESTIMATE = frozenset(WaitsFor) - {WaitsFor.PAUSE, WaitsFor.UPLOADS, WaitsFor.NEW_FILES}


class RemainingItems:
    """Read from the store: the items of the shards less the rows of the parts. Safe to use from several threads."""

    def __init__(self, results: Results, plan: Plan) -> None:
        self._results = results
        self._plan = plan
        self._first_shard: Sequence[WorkItem] | None = None
        self._lock = threading.Lock()

    @cached_property
    def _parts(self) -> dict[int, list[Part]]:
        return self._results.verdicts_by_shard(self._plan)

    @property
    def count(self) -> int:
        return self._plan.items - sum(part.rows for parts in self._parts.values() for part in parts)

    @property
    def finished_before(self) -> int | None:
        """How many rows earlier legs have finished; None until the work has begun: they may not be settled before."""
        return self._plan.items - self.count if "_parts" in vars(self) else None

    def slices(self) -> list[Slice]:
        """Cut what remains into Prefect tasks."""
        plan, parts = self._plan, self._parts
        shards = range(plan.shards)
        unfinished = {shard for shard in shards if not self._results.is_finished(plan, shard, parts.get(shard, []))}
        pieces = [piece for piece in slices_of(plan) if piece.shard in unfinished]
        return [piece for piece in pieces if any(self.items(piece))] if self._plan.shards == 1 else pieces

    def all_items(self) -> Iterator[WorkItem]:
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
    plan: Plan
    leg: int
    results: Results
    journal: Journal
    stop: StopSwitch
    workers: Executor  # the threads of this process; the items of two shards share them
    dispatcher: Dispatcher
    verify: VerifyContext
    remaining: RemainingItems
    budget: BudgetGuard
    control: Control
    trail: AuditTrail
    heartbeat: Heartbeat
    counters: Counters
    row_context: RowContext
    meter: ProgressMeter = field(default_factory=ProgressMeter)
    in_doubt_before: AbstractSet[int] = frozenset()  # rows that were in doubt when the last leg ended; they come last

    def __repr__(self) -> str:
        """Return its run and number alone: an orchestrator may show what a task is given."""
        return f"LegContext(run_id={self.plan.run_id!r}, leg={self.leg})"

    @property
    def progress(self) -> LegProgress:
        lane, meter, counters = self.lane, self.meter, self.counters
        before, done, now = self.remaining.finished_before, counters.rows.total(), self.verify.clock()
        meter.take(self.dispatcher.clock(), done, counters.calls)
        waits_for, speed = self._waits_for(lane), meter.speed
        left = meter.seconds_left(self.plan.items - (before or 0) - done)
        is_paused = lane.pause_seconds >= LEAST_PAUSE_SECONDS
        return LegProgress(
            rows=self.plan.items,
            finished_before=before,
            counts=dict(counters.rows),
            rate=None if speed is None else speed.rows,
            calls=counters.calls,
            call_rate=None if speed is None else speed.calls,
            seconds_left=None if left is None or waits_for in _NO_ESTIMATE else left + lane.pause_seconds * is_paused,
            lane_rate=lane.rate,
            most_at_once=lane.most,
            quota_left=self.budget.left,
            sent_bytes=counters.audio_bytes,
            in_flight=self.budget.in_flight + counters.in_flight,
            uploads=lane.uploads,
            paused_until=now + timedelta(seconds=lane.pause_seconds) if is_paused else None,
            stops_because=None if self.stop.reason is None else self.stop.reason.message,
            waits_for=waits_for,
            waits_since=meter.waits_since(waits_for, now),
        )

    def _waits_for(self, lane: LaneStatus) -> WaitsFor | None:
        is_quiet = self.meter.is_quiet(self.dispatcher.clock())
        applies = {
            WaitsFor.SETTLE: self.heartbeat.is_settling,
            WaitsFor.STOP: self.stop.reason is not None,
            WaitsFor.STORE: not self.heartbeat.store_is_well,
            WaitsFor.OUTAGE: lane.is_outage,
            WaitsFor.START: self.remaining.finished_before is None,
            WaitsFor.PAUSE: lane.pause_seconds >= LEAST_PAUSE_SECONDS,
            WaitsFor.UPLOADS: is_quiet and lane.uploads > 0,
            WaitsFor.NEW_FILES: lane.yields,
        }
        return next((each for each, does in applies.items() if does), None)

    @property
    def lane(self) -> LaneStatus:
        """What is known of the lane, by this process or by all worker processes of the leg."""
        return self.counters.lane or self.dispatcher.status()
