"""Which rows of a run are finished: the only answer to what remains."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Self

import pyarrow as pa

from proofsweep.domain.items import WorkItem
from proofsweep.domain.runs import Plan
from proofsweep.store import layout
from proofsweep.store.journal import read_journal
from proofsweep.store.lease import Lease
from proofsweep.store.parts import Results

_COLUMN = ["manifest_row"]


class CompletedRows:
    """One byte for each planned row, of a run or of one of its partitions; safe to use from several threads.

    A row is finished if it is in a part, or in the journal of a leg without a receipt.
    """

    def __init__(self, results: Results, plan: Plan, partition: int | None = None) -> None:
        self.own = range(plan.items) if partition is None else plan.rows_of_partition(partition)
        self.before: int | None = None  # rows that were finished when this was read first
        self._results = results
        self._plan = plan
        self._partition = partition
        self._done = bytearray(plan.items)
        self._few: Sequence[WorkItem] = ()

    @classmethod
    def load(cls, results: Results, plan: Plan) -> Self:
        completed = cls(results, plan)
        completed.read()
        return completed

    def read(self) -> None:
        """Read what is finished by now; ResultsError if the store cannot be read."""
        results, plan = self._results, self._plan
        lease, journals = Lease(results.store, plan.run_id), layout.journals_folder(plan.run_id)
        for leg in map(int, results.store.folders(journals)):  # before parts: rows move there
            if self._is_own(leg) and lease.receipt(leg) is None:
                folder = layout.journal_folder(plan.run_id, leg)
                self._add(read_journal(results.store, folder, "verdicts", _COLUMN).values())
        parts = (name for name in results.parts_of("verdicts", plan) if self._is_own(layout.leg_of(name)))
        self._add(results.tables(parts, _COLUMN))
        if self.before is None:
            self.before = len(self.own) - self.remaining

    def add(self, row: int) -> None:
        """Note that a row is finished, by this process."""
        self._done[row] = 1

    @property
    def remaining(self) -> int:
        return self._done.count(0, self.own.start, self.own.stop)

    def batches(self) -> list[range]:
        """Cut what remains into Prefect tasks: the rows of an object of items, or each row of a small run.

        The few items of a small run are read here, so that not each of its tasks reads them all.
        """
        batches = self._plan.batches
        if self._plan.is_small:
            self._few = self._few or list(self._results.items(self._plan))
            batches = [range(row, row + 1) for row in self.own]
        own = [range(max(each.start, self.own.start), min(each.stop, self.own.stop)) for each in batches]
        return [rows for rows in own if self._done.find(0, rows.start, rows.stop) >= 0]

    def items(self, rows: range | None = None) -> Iterator[WorkItem]:
        """Yield the items that remain one by one, in manifest order: of these rows, or of all."""
        for batch in self.batches() if rows is None else [rows]:
            planned = self._few[batch.start : batch.stop] if self._few else self._results.items(self._plan, batch)
            yield from (item for item in planned if not self._done[item.manifest_row])

    def _is_own(self, leg: int) -> bool:
        return self._partition in {None, self._plan.partition_of_leg(leg)}

    def _add(self, tables: Iterable[pa.Table]) -> None:
        for row in (row for table in tables for row in table["manifest_row"].to_pylist()):
            if row is not None and 0 <= row < self._plan.items:
                self._done[row] = 1
