"""Finished work that is in no part yet: small segments in the results store, written at least every second.

A run of a night has tens of thousands of seconds, so the segments of each minute are merged into one object:
`…-000001.arrow` to `…-000060.arrow` become `…-000001_000060.arrow`, which then counts instead of them.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from proofsweep.domain.items import Row
from proofsweep.store import layout
from proofsweep.store.parts import Results
from proofsweep.store.schemas import SCHEMAS

# A killed process loses the work of at most so long.
FLUSH_SECONDS = 1.0
# Segments of a minute.
MERGED_SEGMENTS = 60
# A fast run merges after so many rows: they stay in memory until then.
MERGED_ROWS = 5_000


@dataclass(slots=True)
class Journal:
    results: Results
    run_id: str
    leg: int
    writer: str  # a random name of this process, part of its segments' names
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
        """Write what waits, exchanges first, so each row's audit trail is there; what cannot be written waits."""
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
        self.results.store.create(self._name(table, f"{small.number:06}"), arrow_of(small.rows))
        del self._unconfirmed[table]
        with self._lock:
            del self._waiting[table][: small.rows.num_rows]
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
class _Segment:
    """Rows of one flush, in memory until they are merged with others."""

    number: int
    rows: pa.Table


class Segments:
    """What a leg's journal holds when this is made; its process may add to it afterwards."""

    def __init__(self, results: Results, run_id: str, leg: int) -> None:
        self._store = results.store
        self._names = self._store.names(layout.journal_folder(run_id, leg))

    def __bool__(self) -> bool:
        return bool(self._names)

    def names(self, table: str) -> list[str]:
        """Name the segments of one table, of all processes, each one's oldest first."""
        return list(_unmerged([name for name in self._names if f"/{table}-" in name]))

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table | None:
        """Read a segment; None if it is gone, since its process is alive and has merged it."""
        content = self._store.read(name)
        if content is None:
            return None
        rows = pa.ipc.open_stream(content).read_all()
        return rows if columns is None else rows.select(list(columns))

    def tables(self, table: str) -> Iterator[pa.Table]:
        return (rows for name in self.names(table) if (rows := self.table(name)) is not None)

    def delete(self) -> None:
        """Delete these segments, after their rows were read back from parts; not those that came later."""
        for name in self._names:
            self._store.delete(name)


def _unmerged(names: Sequence[str]) -> Iterator[str]:
    merged_to: dict[str, int] = {}
    for (writer, _, shorter_last), name in sorted((_longest_first(name), name) for name in names):
        if -shorter_last > merged_to.get(writer, 0):
            merged_to[writer] = -shorter_last
            yield name


def _longest_first(name: str) -> tuple[str, int, int]:
    writer, numbers = name.removesuffix(".arrow").rsplit("-", 1)
    first, _, last = numbers.partition("_")
    return writer, int(first), -int(last or first)


def arrow_of(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, rows.schema, options=options) as writer:
        writer.write_table(rows)
    return sink.getvalue().to_pybytes()
