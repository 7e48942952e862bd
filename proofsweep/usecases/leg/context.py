"""Everything one process needs to work on one leg of a run."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import datetime

from proofsweep.client.partner import Partner
from proofsweep.client.stop import StopSwitch
from proofsweep.domain import layout
from proofsweep.domain.anomalies import AnomalyGuard, suspicion
from proofsweep.domain.exchanges import Exchange
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import Deferred, Finished
from proofsweep.domain.preflight import SizeLimits
from proofsweep.domain.runs import Plan, Slice, slices_of
from proofsweep.domain.tables.columns import Row
from proofsweep.domain.tables.exchanges import exchange_row
from proofsweep.domain.tables.verdicts import RowContext, row_of
from proofsweep.errors import RunMustStop
from proofsweep.storage.results.journal import Journal
from proofsweep.storage.results.past_answers import PastAnswers
from proofsweep.storage.results.results import Results
from proofsweep.usecases.item.duplicates import DuplicateCache
from proofsweep.usecases.item.source_watch import SourceWatch
from proofsweep.usecases.item.verify_item import VerifyContext, verify_item
from proofsweep.usecases.leg.budget_guard import BudgetGuard
from proofsweep.usecases.leg.counters import Counters

Clock = Callable[[], datetime]

_LOOK_SECONDS = 0.2


def _set_event() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


@dataclass(slots=True, kw_only=True)
class LegContext:
    """One leg as its workers see it.

    Attributes:
        workers: the threads of this process; items of two shards share them.
        repeats: knows what was answered for the same bytes; None verifies them anew.
        storms: holds doubtful rows back.
        allowance: lets items begin while calls and time are left for them.
        clock: gives the time in UTC.
        store_patience_seconds: how long the results store may fail before the leg ends.
        may_begin: clear while what is begun could not be written down.
    """

    plan: Plan
    leg: int
    results: Results
    journal: Journal
    partner: Partner
    stop: StopSwitch
    limits: SizeLimits
    sources: SourceWatch
    workers: Executor
    clock: Clock
    repeats: DuplicateCache | None
    storms: AnomalyGuard
    past: PastAnswers
    allowance: BudgetGuard
    store_patience_seconds: float
    may_begin: threading.Event = field(default_factory=_set_event)
    tally: Counters = field(default_factory=Counters)
    _shards: dict[int, Sequence[WorkItem]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def context(self) -> RowContext:
        """What all rows of this leg share."""
        return RowContext(self.plan.run_id, self.leg, self.plan.environment)

    def remaining_slices(self) -> list[Slice]:
        """Cut what is left of the run into Prefect tasks."""
        finished = {shard: self.results.finished_rows(self.plan, shard) for shard in range(self.plan.shards)}
        return [piece for piece in slices_of(self.plan) if not finished[piece.shard].issuperset(self._rows(piece))]

    def remaining(self, piece: Slice) -> list[WorkItem]:
        """Read the items of a slice that no leg has finished yet."""
        with self._lock:
            items = self._shards.get(piece.shard)
            if items is None:
                items = self._remaining_of_shard(piece.shard)
                self._shards = {piece.shard: items} if self.plan.shards == 1 else {}
        wanted = self._rows(piece)
        return [item for item in items if item.manifest_row in wanted]

    def work(self, item: WorkItem) -> Row | None:
        """Verify one item and write it down; None when it must wait: for another leg, or held back as doubtful."""
        while not self.may_begin.wait(_LOOK_SECONDS) and self.stop.reason is None:
            pass
        if self.stop.reason is not None or not (item.ineligible or self.allowance.admits(item.manifest_row)):
            return None
        means = VerifyContext(self.partner, self.limits, self.sources, self.repeats)
        done = verify_item(item, means, self.clock, self._noting(item.manifest_row))
        self.allowance.leave(item.manifest_row)
        self.tally.note(done)
        if isinstance(done, Deferred):
            return None
        row = row_of(done, self.context)
        passed = self._passed(done, row)
        for each in passed:
            self.journal.add(each, [])
        return row if row in passed else None

    def write_held(self) -> None:
        """Write down the rows that are still held back when the leg ends: no storm came of them."""
        with self._lock:
            held = self.storms.release()
        for row in held:
            self.journal.add(row, [])

    def note_exchange(self, exchange: Exchange) -> None:
        """Write down an exchange that belongs to no row."""
        self._noting(None)(exchange)

    def note_aside(self, exchanges: list[Exchange]) -> None:
        """Write down exchanges that belong to no row, and take them from the list, which others may be adding to."""
        while exchanges:
            self.note_exchange(exchanges.pop(0))

    def part_name(self, shard: int) -> str:
        """Name the verdicts part that this leg leaves for a shard."""
        return layout.verdicts_name(self.plan.run_id, self.plan.run_date, shard, self.leg)

    def _passed(self, done: Finished, row: Row) -> list[Row]:
        """Give the rows that may be written down now; a storm ends the leg, and what it brought remains."""
        with self._lock:
            passed = self.storms.pass_on(done.outcome, row, lambda: self.past.was_accepted(done.item.item_id))
            storm = self.storms.storm
        if storm is not None:
            self.stop.pull(RunMustStop(suspicion(storm, self.storms.threshold(storm)), ended_by="breaker"))
        return passed

    def _rows(self, piece: Slice) -> range:
        first = piece.shard * self.plan.shard_items
        return range(first + piece.first, first + piece.last)

    def _remaining_of_shard(self, shard: int) -> list[WorkItem]:
        finished = self.results.finished_rows(self.plan, shard)
        items = self.results.shard_items(self.plan.run_id, shard)
        return [item for item in items if item.manifest_row not in finished]

    def _noting(self, manifest_row: int | None) -> Callable[[Exchange], None]:
        """Give a way to write down the exchanges of a row, each as soon as it is over."""

        def note(exchange: Exchange) -> None:
            cells = exchange_row(exchange, run_id=self.plan.run_id, leg=self.leg, manifest_row=manifest_row)
            self.journal.add(None, [cells])
            self.allowance.note(exchange, manifest_row)

        return note
