"""Finished work that is in no part yet: small segments in the results store, written at least every second.

A run of a night has tens of thousands of seconds, so the segments of each minute are merged into one object:
`…-000001.arrow` to `…-000060.arrow` become `…-000001_000060.arrow`, which then counts instead of them.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pyarrow as pa

from proofsweep.domain import layout
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import NameTaken
from proofsweep.storage.results.plans_and_parts import SCHEMAS, Results

# A killed process loses the work of at most so long; half doubles the writes to the store, twice doubles the loss.
FLUSH_SECONDS = 1.0
# chosen: half leaves twice as many objects to list, twice keeps twice the rows in memory.
MERGED_SEGMENTS = 60
# chosen: a fast run merges after so many rows, since rows stay in memory until they are merged.
MERGED_ROWS = 5_000


@dataclass(slots=True)
class Journal:
    """One process's journal of one leg.

    Attributes:
        writer: a random name of this process, part of its segments' names.
    """

    results: Results
    run_id: str
    leg: int
    writer: str
    _waiting: dict[str, list[Row]] = field(default_factory=lambda: {"verdicts": [], "exchanges": []})
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _flushing: threading.Lock = field(default_factory=threading.Lock)
    _segments: int = 0
    _unconfirmed: dict[str, "_Segment"] = field(default_factory=dict)
    _small: dict[str, list["_Segment"]] = field(default_factory=lambda: {"verdicts": [], "exchanges": []})

    def add(self, verdict: Row | None, exchanges: Sequence[Row]) -> None:
        """Add a finished row and its exchanges; the next flush makes them durable."""
        with self._lock:
            self._waiting["exchanges"] += exchanges
            if verdict is not None:
                self._waiting["verdicts"].append(verdict)

    def flush(self) -> None:
        """Write what waits, exchanges first: the audit trail of each row in the journal is there too.

        Raises:
            ResultsError: the store cannot be written; the rows wait for the next flush.
        """
        with self._flushing:
            with self._lock:
                counts = {table: len(rows) for table, rows in self._waiting.items()}
            self._segments += 1
            for table in ("exchanges", "verdicts"):
                self._write(table, counts[table])

    def _write(self, table: str, count: int) -> None:
        """Write `count` of the rows that wait; first, unchanged, the segment whose last write got no answer."""
        unconfirmed = self._unconfirmed.get(table)
        if unconfirmed is not None:
            self._put(table, unconfirmed)
            count -= unconfirmed.rows.num_rows
        if count:
            with self._lock:
                rows = self._waiting[table][:count]
            self._put(table, _Segment(self._segments, pa.Table.from_pylist(rows, schema=SCHEMAS[table])))

    def _put(self, table: str, small: "_Segment") -> None:
        self._unconfirmed[table] = small
        with suppress(NameTaken):  # it was written before, and the answer was lost
            self.results.store.create(self._name(table, f"{small.number:06}"), _arrow_of(small.rows))
        del self._unconfirmed[table]
        with self._lock:
            del self._waiting[table][: small.rows.num_rows]
        self._small[table].append(small)
        if self._is_enough(self._small[table]):
            self._merge(table)

    def _is_enough(self, smalls: Sequence["_Segment"]) -> bool:
        many_rows = sum(small.rows.num_rows for small in smalls) >= MERGED_ROWS
        return len(smalls) >= MERGED_SEGMENTS or (many_rows and len(smalls) > 1)

    def _merge(self, table: str) -> None:
        """Merge the small segments into one; if this ends halfway, a reader ignores those that are left."""
        smalls = self._small[table]
        merged = pa.concat_tables([small.rows for small in smalls])
        numbers = f"{smalls[0].number:06}_{smalls[-1].number:06}"
        self.results.store.create(self._name(table, numbers), _arrow_of(merged))
        self._small[table] = []
        for small in smalls:
            self.results.store.delete(self._name(table, f"{small.number:06}"))

    def _name(self, table: str, numbers: str) -> str:
        return f"{layout.journal_folder(self.run_id, self.leg)}/{table}-{self.writer}-{numbers}.arrow"


@dataclass(frozen=True, slots=True)
class _Segment:
    """Rows of one flush, in memory until they are merged with others."""

    number: int
    rows: pa.Table


def read_journal(results: Results, run_id: str, leg: int, table: str) -> Iterator[pa.Table]:
    """Read a leg's segments of one table, of all processes, oldest first."""
    names = [name for name in _segments(results, run_id, leg) if f"/{table}-" in name]
    for name in _unmerged(names):
        content = results.store.read(name)
        if content is not None:
            yield pa.ipc.open_stream(content).read_all()


def delete_journal(results: Results, run_id: str, leg: int) -> None:
    """Delete a leg's segments, after their rows were read back from parts."""
    for name in _segments(results, run_id, leg):
        results.store.delete(name)


def _segments(results: Results, run_id: str, leg: int) -> list[str]:
    return results.store.names(layout.journal_folder(run_id, leg))


def _unmerged(names: Sequence[str]) -> Iterator[str]:
    """Leave out the segments that are part of a merged one of the same writer."""
    merged = [_range_of(name) for name in names if "_" in name.rsplit("-", 1)[1]]
    for name in names:
        mine = writer, first, last = _range_of(name)
        longer = (each for each in merged if each != mine and each[0] == writer)
        if not any(low <= first and last <= high for _, low, high in longer):
            yield name


def _range_of(name: str) -> tuple[str, int, int]:
    """Read the writer and the first and last number of a segment from its name."""
    writer, numbers = name.removesuffix(".arrow").rsplit("-", 1)
    first, _, last = numbers.partition("_")
    return writer, int(first), int(last or first)


def _arrow_of(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, rows.schema, options=options) as writer:
        writer.write_table(rows)
    return sink.getvalue().to_pybytes()
