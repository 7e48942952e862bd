"""Finished work: small segments of what is in no part yet, written at least every second; and which rows are finished.

`CompletedRows` is the only answer to what remains of a run.
"""

import os
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import pyarrow as pa

from proofsweep.config.threads import Lock, some_at_once
from proofsweep.domain.items import Row, WorkItem
from proofsweep.domain.runs import AnyRun, Plan
from proofsweep.store import layout
from proofsweep.store.objects import Store, damage_named, damaged, delete_all
from proofsweep.store.parts import SCHEMAS, Mark, Results

FLUSH_SECONDS = 1.0  # a killed process loses the work of at most so long
SEGMENT_BYTES = 4 * 1024 * 1024  # of Arrow memory, unless one row has more: an answer has up to 2 MiB
_FULL_LETTERS = 32 * 1024 * 1024  # of rows that wait to be written; then a leg begins nothing new
_SEGMENTS_AT_ONCE = 8  # that are read ahead, so some 64 MiB
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")  # a fifth of the time of zstd, for what is soon deleted


@dataclass(slots=True)
class Journal:
    results: Results
    run_id: str
    leg: int
    # A random name, part of its segments' names; that of a leg is its holder's.
    writer: str = field(default_factory=lambda: f"{os.getpid()}_{secrets.token_hex(4)}")
    table: str = "verdicts"  # takes the finished rows
    _waiting: defaultdict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    _letters: int = 0  # of all texts that are not written yet
    _lock: Lock = field(default_factory=Lock)
    _flushing: Lock = field(default_factory=Lock)
    _numbers: Counter[str] = field(default_factory=Counter)  # of the last segment of each table
    # Of each table, what this process has written and no part is known to have: rows and bytes by the segment's number.
    _written: defaultdict[str, dict[int, "Extent"]] = field(default_factory=lambda: defaultdict(dict))
    _taken: list[tuple[str, int, pa.Table]] = field(default_factory=list)  # and not known to be written

    def add(self, row: Row | None, exchanges: Sequence[Row]) -> None:
        """Add a finished row and its exchanges; the next flush makes them durable."""
        letters = 0
        for cells in exchanges if row is None else (row, *exchanges):
            for cell in cells.values():
                if isinstance(cell, str):
                    letters += len(cell)
        with self._lock:
            self._letters += letters
            self._waiting["exchanges"] += exchanges
            if row is not None:
                self._waiting[self.table].append(row)

    @property
    def is_full(self) -> bool:
        """Whether answers come faster than the store takes them."""
        return self._letters >= _FULL_LETTERS

    def flush(self) -> None:
        """Write what waits, exchanges first, so each row's audit trail is there.

        What could not be written is written first by the next flush, unchanged: it may be there in spite of the error.
        """
        with self._flushing:
            self._write_taken()
            with self._lock:
                waiting = self._waiting
                self._waiting = defaultdict(list)
                letters = self._letters
            for table in ("exchanges", self.table):
                rows = waiting[table]
                for piece in _pieces(pa.Table.from_pylist(rows, schema=SCHEMAS[table])):
                    self._numbers[table] += 1
                    self._taken.append((table, self._numbers[table], piece))
            self._write_taken()
            with self._lock:
                self._letters -= letters

    def waiting(self, table: str) -> "Extent":
        """Return how much of a table this process has written, and no part is known to have."""
        rows = size_bytes = 0
        with self._flushing:
            for extent in self._written[table].values():
                rows += extent.rows
                size_bytes += extent.size_bytes
        return Extent(rows, size_bytes)

    def segments(self, table: str) -> list["Segment"]:
        """Return the segments of a table that this process has written and not forgotten."""
        folder = layout.journal_folder(self.run_id, self.leg)
        with self._flushing:
            return [segment_of(folder, table, self.writer, number) for number in self._written[table]]

    def forget(self, table: str, through: int) -> None:
        """Forget the segments of a table that parts have."""
        with self._flushing:
            written = self._written[table]
            for number in list(written):
                if number <= through:
                    del written[number]

    def _write_taken(self) -> None:
        folder = layout.journal_folder(self.run_id, self.leg)
        while self._taken:
            table, number, rows = self._taken[0]
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, rows.schema, options=_COMPRESSED) as stream:
                stream.write_table(rows)
            name = segment_of(folder, table, self.writer, number).name
            # What is taken stays until it is known to be written: the store may fail, and the next flush repeats it.
            self.results.store.create(name, sink.getvalue().to_pybytes())
            self._written[table][number] = Extent(rows.num_rows, rows.nbytes)
            del self._taken[0]


def _pieces(rows: pa.Table) -> Iterator[pa.Table]:
    """Cut rows into tables of at most `SEGMENT_BYTES`, or of one row."""
    # A column of text overflows at 2 GiB, and an answer may have 2 MiB: a killed run of some thousand such files could
    # not be resumed.
    if rows.num_rows > 1 and rows.nbytes > SEGMENT_BYTES:
        half = rows.num_rows // 2
        yield from _pieces(rows.slice(0, half))
        yield from _pieces(rows.slice(half))
    elif rows.num_rows:
        yield rows


@dataclass(frozen=True, slots=True)
class Extent:
    rows: int
    size_bytes: int  # of Arrow memory


@dataclass(frozen=True, slots=True)
class Segment:
    """An object of a journal: rows of one table that one flush of a writer made durable."""

    name: str
    writer: str
    number: int


def segment_of(folder: str, table: str, writer: str, number: int) -> Segment:
    name = f"{folder}/{table}-{writer}-{number:06}.arrow"
    return Segment(name, writer, number)


def segments_of_writer(store: Store, folder: str, table: str, writer: str, after: int) -> list[Segment]:
    """Return the segments of a writer behind a number, also those that a listing does not show yet."""
    last = after
    for segment in segments_of(store, folder, table):
        if segment.writer == writer:
            last = max(last, segment.number)
    # A writer numbers its segments without a gap, and they are deleted from the first one on. So what a listing that
    # lags behind lacks is found by the next number.
    while store.read(segment_of(folder, table, writer, last + 1).name) is not None:
        last += 1
    return [segment_of(folder, table, writer, number) for number in range(after + 1, last + 1)]


def read_journal(
    store: Store,
    folder: str,
    table: str,
    choice: Callable[[Segment], bool] = lambda _: True,
    known: Iterable[Segment] = (),
) -> Iterator[tuple[Segment, pa.Table]]:
    """Yield the segments of one table that all writers of a leg have left, each writer's oldest first.

    `known` segments need no listing.

    Its process may publish segments meanwhile: what was in the journal when this began is yielded, or is in a part by
    then. Few of them are in memory at once.
    """
    segments = {*segments_of(store, folder, table), *known}
    chosen = sorted(filter(choice, segments), key=lambda segment: (segment.writer, segment.number))
    contents = some_at_once(chosen, lambda segment: store.read(segment.name), _SEGMENTS_AT_ONCE)
    for segment, content in zip(chosen, contents, strict=True):
        if content is None:  # its process has published it meanwhile
            continue
        try:
            rows = pa.ipc.open_stream(content).read_all()
            rows.validate()
            rows.select(SCHEMAS[table].names[:1])  # a beginning of zeros is read as a table without columns
        except (pa.ArrowException, OSError, KeyError) as damage:
            raise damaged(store, segment.name, "it is not whole") from damage
        yield segment, rows


def segments_of(store: Store, folder: str, table: str) -> Iterator[Segment]:
    prefix = f"{folder}/{table}-"
    for name in store.names(folder):
        if name.startswith(prefix):
            stem = name.removeprefix(prefix).removesuffix(".arrow")
            writer, _, number = stem.rpartition("-")
            if number.isdecimal():
                yield Segment(name, writer, int(number))


def delete_journal(store: Store, run_id: str, leg: int) -> None:
    """Delete the journal of a leg that has its receipt. A process that was frozen may have added to it since."""
    delete_all(store, store.names(layout.journal_folder(run_id, leg)))


def unpublished(results: Results, plan: AnyRun, leg: int, table: str) -> list[pa.Table]:
    """Read the rows that a leg without a receipt has in its journal and in no part; a closed table has none."""
    folder = layout.journal_folder(plan.run_id, leg)
    # The journal first: its rows move into parts. Read later, rows that moved meanwhile would be in neither.
    journal = list(read_journal(results.store, folder, table))
    names = results.parts_of(table, plan, leg)
    mark = Mark(journal={}, is_closing=False)
    if names:
        _, mark = results.marked_part(names[-1])
    if mark.is_closing:
        return []
    waiting: list[pa.Table] = []
    for segment, rows in journal:
        published = mark.journal.get(segment.writer, 0)
        if segment.number > published:
            waiting.append(rows)
    return waiting


KEYS_OF_ROWS: Mapping[str, Sequence[str]] = {
    "verdicts": ("run_id", "leg", "manifest_row"),
    "exchanges": ("run_id", "leg", "manifest_row", "call", "attempt", "started_at"),
}
"""The tables whose rows are in journals first, and what tells their rows apart."""


def unpublished_of_all(results: Results, table: str) -> list[pa.Table]:
    """Read what the open legs of all runs and operations have journalled, and none of their parts has.

    A journal that is damaged is named in a line, and hinders no other one.
    """
    runs = results.log.runs()
    opened: list[tuple[AnyRun, int]] = [(run.plan, leg.leg) for run in runs.records.values() for leg in run.open]
    opened += [(record.plan, leg.leg) for record in runs.operations.values() for leg in record.open]
    found: list[pa.Table] = []
    for plan, leg in opened:
        with damage_named():
            found += unpublished(results, plan, leg, table)
    return found


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
        record = results.log.runs().records.get(plan.run_id)
        # Journals first: their rows move into parts. Read later, rows that moved meanwhile would be in neither.
        for leg in () if record is None else record.open:
            receipt = results.store.read(layout.receipt_name(plan.run_id, leg.leg))
            if receipt is None and self._is_own(leg.leg):
                folder = layout.journal_folder(plan.run_id, leg.leg)
                segments = read_journal(results.store, folder, "verdicts")
                self._add(rows for _, rows in segments)
        names = results.parts_of("verdicts", plan)
        parts = [name for name in names if self._is_own(layout.leg_of(name))]
        self._add(results.tables(parts, ["manifest_row"]))
        if self.before is None:
            self.before = len(self.own) - self.remaining

    def read_few(self) -> None:
        """Read the items of a small run, so that no task of it needs a store that may be away."""
        if self._plan.is_small:
            self._few = list(self._results.items(self._plan))

    def add(self, row: int) -> None:
        """Record that this process has finished a row."""
        self._done[row] = 1

    @property
    def remaining(self) -> int:
        return self._done.count(0, self.own.start, self.own.stop)

    def batches(self) -> list[range]:
        """Cut what remains into Prefect tasks: the rows of an object of items, or each row of a small run."""
        batches = self._plan.batches
        if self._plan.is_small:
            batches = [range(row, row + 1) for row in self.own]
        remaining: list[range] = []
        for batch in batches:
            # An object of items may have rows of two partitions: of it, this leg works on its own alone.
            first = max(batch.start, self.own.start)
            end = min(batch.stop, self.own.stop)
            rows = range(first, end)
            if self._done.find(0, rows.start, rows.stop) >= 0:
                remaining.append(rows)
        return remaining

    def items(self, rows: range | None = None) -> Iterator[WorkItem]:
        """Yield the items that remain, of these rows or of all, one by one in manifest order."""
        batches = self.batches() if rows is None else [rows]
        for batch in batches:
            items: Iterable[WorkItem] = self._few[batch.start : batch.stop]
            if not self._few:
                items = self._results.items(self._plan, batch)
            for item in items:
                if not self._done[item.manifest_row]:
                    yield item

    def _is_own(self, leg: int) -> bool:
        return self._partition in {None, self._plan.partition_of_leg(leg)}

    def _add(self, tables: Iterable[pa.Table]) -> None:
        for table in tables:
            for row in table["manifest_row"].to_pylist():
                if row is not None and 0 <= row < self._plan.items:
                    self._done[row] = 1
