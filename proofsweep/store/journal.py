"""Finished work that is in no part yet: small segments in the results store, written at least every second."""

import os
import secrets
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from proofsweep.config.threads import some_at_once
from proofsweep.domain.items import Row
from proofsweep.domain.runs import AnyRun
from proofsweep.store import layout
from proofsweep.store.objects import REQUESTS_AT_ONCE, Store, delete_all
from proofsweep.store.parts import SCHEMAS, Mark, Results

# A killed process loses the work of at most so long.
FLUSH_SECONDS = 1.0


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
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _flushing: threading.Lock = field(default_factory=threading.Lock)
    _flushes: int = 0
    _last: Counter[str] = field(default_factory=Counter)
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

    def last_segments(self) -> dict[str, int]:
        """Return the number of the last segment of each table, by which a part says what it has of this journal."""
        with self._flushing:
            return {table: self._last[table] for table in ("exchanges", self.table)}

    def _put_taken(self) -> None:
        for table in [*self._taken]:
            number, rows = self._taken[table]
            name = f"{layout.journal_folder(self.run_id, self.leg)}/{table}-{self.writer}-{number:06}.arrow"
            self.results.store.create(name, arrow_of(rows))
            del self._taken[table]
            self._last[table] = number
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
    columns: Sequence[str] | None = None,
    choice: Callable[[Segment], bool] = lambda _: True,
) -> dict[Segment, pa.Table]:
    """Read a leg's journal of one table, of all its writers, each one's oldest first.

    Its process may publish segments meanwhile: what was in the journal when this began is in the answer, or in a part
    by now.
    """
    chosen = [segment for segment in segments_of(store, folder, table) if choice(segment)]
    contents = some_at_once(chosen, lambda segment: store.read(segment.name), REQUESTS_AT_ONCE)
    read = {}
    for segment, content in zip(chosen, contents, strict=True):
        if content is not None:
            rows = pa.ipc.open_stream(content).read_all()
            read[segment] = rows if columns is None else rows.select(list(columns))
    return read


def segments_of(store: Store, folder: str, table: str) -> Iterator[Segment]:
    for name in store.names(folder):
        if name.startswith(f"{folder}/{table}-"):
            writer, _, number = name.removesuffix(".arrow").removeprefix(f"{folder}/{table}-").rpartition("-")
            yield Segment(name, writer, int(number))


def delete_journal(store: Store, run_id: str, leg: int) -> None:
    """Delete the journal of a leg that has its receipt, with what a process that was frozen has added since."""
    delete_all(store, store.names(layout.journal_folder(run_id, leg)))


def unpublished(
    results: Results, plan: AnyRun, leg: int, table: str, columns: Sequence[str] | None = None
) -> list[pa.Table]:
    """Read what a leg without a receipt has journalled, and none of its parts has; one that is closed has nothing."""
    found = read_journal(results.store, layout.journal_folder(plan.run_id, leg), table, columns)
    names = results.parts_of(table, plan, leg)
    mark = results.marked_part(names[-1])[1] if names else Mark(journal={}, is_closing=False)
    if mark.is_closing:
        return []
    return [rows for each, rows in found.items() if each.number > mark.journal.get(each.writer, 0)]


def arrow_of(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, rows.schema, options=options) as writer:
        writer.write_table(rows)
    return sink.getvalue().to_pybytes()
