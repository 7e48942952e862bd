"""Finished work: small segments of what is in no part yet, written at least every second; and which rows are finished.

`CompletedRows` is the only answer to what remains of a run.
"""

import os
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import pyarrow as pa

from proofsweep.config.threads import Lock, some_at_once
from proofsweep.domain.items import Row, WorkItem
from proofsweep.domain.runs import AnyRun, Plan
from proofsweep.store import layout
from proofsweep.store.lease import Lease
from proofsweep.store.objects import REQUESTS_AT_ONCE, Store, damaged, delete_all, numbered
from proofsweep.store.parts import SCHEMAS, Mark, Results

FLUSH_SECONDS = 1.0  # a killed process loses the work of at most so long
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="zstd")


@dataclass(slots=True)
class Journal:
    results: Results
    run_id: str
    leg: int
    # a random name of this process, part of its segments' names
    writer: str = field(default_factory=lambda: f"{os.getpid()}_{secrets.token_hex(4)}")
    table: str = "verdicts"  # takes the finished rows
    written: Counter[str] = field(default_factory=Counter)  # rows of each table
    _waiting: defaultdict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    _lock: Lock = field(default_factory=Lock)
    _flushing: Lock = field(default_factory=Lock)
    _flushes: int = 0
    _written: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))  # numbers, of each table
    _taken: dict[str, tuple[int, pa.Table]] = field(default_factory=dict)  # of one flush, and not known to be written

    def add(self, row: Row | None, exchanges: Sequence[Row]) -> None:
        """Add a finished row and its exchanges; the next flush makes them durable."""
        with self._lock:
            self._waiting["exchanges"] += exchanges
            if row is not None:
                self._waiting[self.table].append(row)

    def flush(self) -> None:
        """Write what waits, exchanges first, so each row's audit trail is there.

        What could not be written is written first by the next flush, unchanged: it may be there in spite of the error.
        """
        with self._flushing:
            self._put_taken()
            with self._lock:
                waiting, self._waiting = self._waiting, defaultdict(list)
            self._flushes += 1
            for table in ("exchanges", self.table):
                if rows := waiting[table]:
                    self._taken[table] = self._flushes, pa.Table.from_pylist(rows, schema=SCHEMAS[table])
            self._put_taken()

    def segments(self, table: str) -> list["Segment"]:
        """Return the segments of a table that this process has written and not forgotten."""
        with self._flushing:
            return [Segment(self._name_of(table, number), self.writer, number) for number in self._written[table]]

    def forget(self, table: str, through: int) -> None:
        """Forget the segments of a table that parts have."""
        with self._flushing:
            self._written[table] = [number for number in self._written[table] if number > through]

    def _name_of(self, table: str, number: int) -> str:
        return f"{layout.journal_folder(self.run_id, self.leg)}/{table}-{self.writer}-{number:06}.arrow"

    def _put_taken(self) -> None:
        for table in [*self._taken]:
            number, rows = self._taken[table]
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, rows.schema, options=_COMPRESSED) as stream:
                stream.write_table(rows)
            self.results.store.create(self._name_of(table, number), sink.getvalue().to_pybytes())
            del self._taken[table]
            self._written[table].append(number)
            self.written[table] += rows.num_rows


@dataclass(frozen=True, slots=True)
class Segment:
    """An object of a journal: rows of one table that one flush of a writer made durable."""

    name: str
    writer: str
    number: int


def read_journal(
    store: Store,
    folder: str,
    table: str,
    choice: Callable[[Segment], bool] = lambda _: True,
    known: Iterable[Segment] = (),
) -> dict[Segment, pa.Table]:
    """Read a leg's journal of one table, of all its writers, each one's oldest first; `known` segments need no listing.

    Its process may publish segments meanwhile: what was in the journal when this began is in the answer, or in a part
    by now.
    """
    there = dict.fromkeys((*segments_of(store, folder, table), *known))
    chosen = sorted(filter(choice, there), key=lambda segment: (segment.writer, segment.number))
    contents = some_at_once(chosen, lambda segment: store.read(segment.name), REQUESTS_AT_ONCE)
    found: dict[Segment, pa.Table] = {}
    for segment, content in zip(chosen, contents, strict=True):
        try:
            found |= {} if content is None else {segment: pa.ipc.open_stream(content).read_all()}
        except (pa.ArrowException, OSError) as damage:
            raise damaged(store, segment.name, "it is not whole") from damage
    return found


def segments_of(store: Store, folder: str, table: str) -> Iterator[Segment]:
    for name in store.names(folder):
        if name.startswith(f"{folder}/{table}-"):
            writer, _, number = name.removesuffix(".arrow").removeprefix(f"{folder}/{table}-").rpartition("-")
            if number.isdecimal():
                yield Segment(name, writer, int(number))


def delete_journal(store: Store, run_id: str, leg: int) -> None:
    """Delete the journal of a leg that has its receipt, with what a process that was frozen has added since."""
    delete_all(store, store.names(layout.journal_folder(run_id, leg)))


def unpublished(results: Results, plan: AnyRun, leg: int, table: str) -> list[pa.Table]:
    """Read what a leg without a receipt has journalled, and none of its parts has; one that is closed has nothing."""
    found = read_journal(results.store, layout.journal_folder(plan.run_id, leg), table)
    names = results.parts_of(table, plan, leg)
    mark = results.marked_part(names[-1])[1] if names else Mark(journal={}, is_closing=False)
    if mark.is_closing:
        return []
    return [rows for each, rows in found.items() if each.number > mark.journal.get(each.writer, 0)]


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
        for leg in numbered(results.store, journals):  # before parts: rows move there
            if self._is_own(leg) and lease.receipt(leg) is None:
                folder = layout.journal_folder(plan.run_id, leg)
                self._add(read_journal(results.store, folder, "verdicts").values())
        parts = (name for name in results.parts_of("verdicts", plan) if self._is_own(layout.leg_of(name)))
        self._add(results.tables(parts, ["manifest_row"]))
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

        The few items of a small run are read here: no task of it needs a store that may be away.
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
            items = self._few[batch.start : batch.stop] if self._few else self._results.items(self._plan, batch)
            yield from (item for item in items if not self._done[item.manifest_row])

    def _is_own(self, leg: int) -> bool:
        return self._partition in {None, self._plan.partition_of_leg(leg)}

    def _add(self, tables: Iterable[pa.Table]) -> None:
        for row in (row for table in tables for row in table["manifest_row"].to_pylist()):
            if row is not None and 0 <= row < self._plan.items:
                self._done[row] = 1
