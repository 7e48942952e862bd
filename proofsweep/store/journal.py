"""Finished work that is in no part yet: small segments in the results store, written at least every second.

A run of a night has tens of thousands of seconds, so the segments of each minute are merged into one object:
`…-000001.arrow` to `…-000060.arrow` become `…-000001_000060.arrow`, which then counts instead of them.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row
from proofsweep.domain.runs import AnyRun
from proofsweep.store import layout
from proofsweep.store.objects import Store
from proofsweep.store.parts import Mark, Results
from proofsweep.store.schemas import SCHEMAS

# A killed process loses the work of at most so long.
FLUSH_SECONDS = 1.0
# Segments of a minute.
MERGED_SEGMENTS = 60
# A fast run merges after so many rows: they stay in memory until then.
MERGED_ROWS = 5_000
_MOST_LISTINGS = 20  # while others merge or delete what was listed, it is listed again


@dataclass(slots=True)
class Journal:
    results: Results
    run_id: str
    leg: int
    writer: str  # a random name of this process, part of its segments' names
    table: str = "verdicts"  # takes the finished rows
    written: Counter[str] = field(default_factory=Counter)  # rows of each table
    _waiting: defaultdict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _flushing: threading.Lock = field(default_factory=threading.Lock)
    _segments: int = 0
    _last: Counter[str] = field(default_factory=Counter)
    _taken: dict[str, "_Rows"] = field(default_factory=dict)  # of one flush, and not known to be written
    _small: defaultdict[str, list["_Rows"]] = field(default_factory=lambda: defaultdict(list))

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
            self._segments += 1
            for table in ("exchanges", self.table):
                if rows := waiting[table]:
                    self._taken[table] = _Rows(self._segments, pa.Table.from_pylist(rows, schema=SCHEMAS[table]))
            self._put_taken()

    def cut(self) -> dict[str, int]:
        """Return up to which segment each table is written; those are never merged with later ones.

        So a part that takes them says by one number what it has of this journal.
        """
        with self._flushing:
            self._small.clear()
            return {table: self._last[table] for table in ("exchanges", self.table)}

    def _put_taken(self) -> None:
        for table in [*self._taken]:
            small = self._taken[table]
            self.results.store.create(self._name(table, f"{small.number:06}"), arrow_of(small.rows))
            del self._taken[table]
            self._last[table] = small.number
            self.written[table] += small.rows.num_rows
            smalls = self._small[table]
            smalls.append(small)
            has_many_rows = sum(small.rows.num_rows for small in smalls) >= MERGED_ROWS
            if len(smalls) >= MERGED_SEGMENTS or (has_many_rows and len(smalls) > 1):
                self._merge(table)

    def _merge(self, table: str) -> None:
        """Merge the small segments into one; if this ends halfway, a reader ignores those that are left."""
        smalls = self._small[table]
        merged = pa.concat_tables([small.rows for small in smalls])
        numbers = f"{smalls[0].number:06}_{smalls[-1].number:06}"
        self.results.store.create(self._name(table, numbers), arrow_of(merged))
        self._small[table] = []
        for small in smalls:
            self.results.store.delete(self._name(table, f"{small.number:06}"))

    def _name(self, table: str, numbers: str) -> str:
        return f"{layout.journal_folder(self.run_id, self.leg)}/{table}-{self.writer}-{numbers}.arrow"


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of one flush, in memory until they are merged with others."""

    number: int
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Segment:
    """An object of a journal: rows of one table by one writer, of its flushes `first` to `last`."""

    name: str
    writer: str
    first: int
    last: int


def read_journal(
    store: Store,
    folder: str,
    table: str,
    columns: Sequence[str] | None = None,
    choice: Callable[[Segment], bool] = lambda _: True,
) -> dict[Segment, pa.Table]:
    """Read a leg's journal of one table, of all its writers, each one's oldest first.

    Its process may merge or publish segments meanwhile, so it is listed until nothing new is there: a row that was in
    the journal when this began is in the answer, or in a part by now.
    """
    read: dict[Segment, pa.Table] = {}
    for listing in range(_MOST_LISTINGS):
        chosen = _unmerged([segment for segment in segments_of(store, folder, table) if choice(segment)])
        if listing and all(segment in read for segment in chosen):
            return {segment: read[segment] for segment in chosen}
        for segment in chosen:
            if segment not in read and (content := store.read(segment.name)) is not None:
                rows = pa.ipc.open_stream(content).read_all()
                read[segment] = rows if columns is None else rows.select(list(columns))
    raise ResultsError(f"The journal {folder} in the results store {store.url} lists segments that cannot be read.")


def segments_of(store: Store, folder: str, table: str) -> Iterator[Segment]:
    for name in store.names(folder):
        if name.startswith(f"{folder}/{table}-"):
            writer, numbers = name.removesuffix(".arrow").removeprefix(f"{folder}/{table}-").rsplit("-", 1)
            first, _, last = numbers.partition("_")
            yield Segment(name, writer, int(first), int(last or first))


def delete_journal(store: Store, run_id: str, leg: int) -> None:
    """Delete the journal of a leg that has its receipt, with what a process that was frozen has added since."""
    for name in store.names(layout.journal_folder(run_id, leg)):
        store.delete(name)


def _unmerged(segments: Sequence[Segment]) -> list[Segment]:
    """Leave out what was merged into another one."""
    merged_to: dict[str, int] = {}
    found = []
    for segment in sorted(segments, key=lambda each: (each.writer, each.first, -each.last)):
        if segment.last > merged_to.get(segment.writer, 0):
            merged_to[segment.writer] = segment.last
            found.append(segment)
    return found


def unpublished(
    results: Results, plan: AnyRun, leg: int, table: str, columns: Sequence[str] | None = None
) -> list[pa.Table]:
    """Read what a leg without a receipt has journalled, and none of its parts has; one that is closed has nothing."""
    found = read_journal(results.store, layout.journal_folder(plan.run_id, leg), table, columns)
    names = [name for name in results.parts_of(table, plan) if layout.leg_of(name) == leg]
    mark = results.marked_part(names[-1])[1] if names else Mark(journal={}, is_closing=False)
    taken = mark.journal
    return [] if mark.is_closing else [rows for each, rows in found.items() if each.last > taken.get(each.writer, 0)]


def arrow_of(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, rows.schema, options=options) as writer:
        writer.write_table(rows)
    return sink.getvalue().to_pybytes()
