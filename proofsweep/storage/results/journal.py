"""Finished work that is in no part yet: small segments in the results store, written at least every second.

A night has tens of thousands of seconds, so a minute's small segments are merged into one: `…-000060.arrow` and those
before it into `…-000001_000060.arrow`, which counts from then on in their stead.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pyarrow as pa

from proofsweep.domain import layout
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import NameTaken
from proofsweep.storage.results.results import SCHEMAS, Results

FLUSH_SECONDS = 1.0
MERGED_SEGMENTS = 60
MERGED_ROWS = 5_000
"""Whichever comes first: what waits to be merged is in memory."""


@dataclass(slots=True)
class Journal:
    """One process's journal of one leg.

    Attributes:
        writer: tells this process's segments from another's; random.
    """

    results: Results
    run_id: str
    leg: int
    writer: str
    _waiting: dict[str, list[Row]] = field(default_factory=lambda: {"verdicts": [], "exchanges": []})
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _flushing: threading.Lock = field(default_factory=threading.Lock)
    _segments: int = 0
    _unsure: dict[str, "_Segment"] = field(default_factory=dict)
    _small: dict[str, list["_Segment"]] = field(default_factory=lambda: {"verdicts": [], "exchanges": []})

    def add(self, verdict: Row | None, exchanges: Sequence[Row]) -> None:
        """Take one finished row and its exchanges; they are durable after the next flush."""
        with self._lock:
            self._waiting["exchanges"] += exchanges
            if verdict is not None:
                self._waiting["verdicts"].append(verdict)

    def flush(self) -> None:
        """Write down what waits, exchanges first: a row in the journal has its audit trail there.

        Raises:
            ResultsError: the store cannot be written; what waits goes on waiting, for another flush.
        """
        with self._flushing:
            with self._lock:
                counts = {table: len(rows) for table, rows in self._waiting.items()}
            self._segments += 1
            for table in ("exchanges", "verdicts"):
                self._write(table, counts[table])

    def _write(self, table: str, count: int) -> None:
        """Write so many of the rows that wait: first, as it was, a segment of which nobody knows if it was written."""
        unsure = self._unsure.get(table)
        if unsure is not None:
            self._put(table, unsure)
            count -= unsure.rows.num_rows
        if count:
            with self._lock:
                rows = self._waiting[table][:count]
            self._put(table, _Segment(self._segments, pa.Table.from_pylist(rows, schema=SCHEMAS[table])))

    def _put(self, table: str, small: "_Segment") -> None:
        self._unsure[table] = small
        with suppress(NameTaken):  # the store had taken it, and its answer was lost
            self.results.store.create(self._name(table, f"{small.number:06}"), _arrow_of(small.rows))
        del self._unsure[table]
        with self._lock:
            del self._waiting[table][: small.rows.num_rows]
        self._small[table].append(small)
        if self._is_enough(self._small[table]):
            self._merge(table)

    def _is_enough(self, smalls: Sequence["_Segment"]) -> bool:
        many_rows = sum(small.rows.num_rows for small in smalls) >= MERGED_ROWS
        return len(smalls) >= MERGED_SEGMENTS or (many_rows and len(smalls) > 1)

    def _merge(self, table: str) -> None:
        """Put the small segments into one; broken off in between, a reader passes over those that are left."""
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
    """Rows of one flush, kept until they are merged with others."""

    number: int
    rows: pa.Table


def read_journal(results: Results, run_id: str, leg: int, table: str) -> Iterator[pa.Table]:
    """Read a leg's segments of one table, by whichever processes, oldest first."""
    names = [name for name in _segments(results, run_id, leg) if f"/{table}-" in name]
    for name in _standing(names):
        content = results.store.read(name)
        if content is not None:
            yield pa.ipc.open_stream(content).read_all()


def delete_journal(results: Results, run_id: str, leg: int) -> None:
    """Take a leg's segments away, after their rows were read back from parts."""
    for name in _segments(results, run_id, leg):
        results.store.delete(name)


def _segments(results: Results, run_id: str, leg: int) -> list[str]:
    return results.store.names(layout.journal_folder(run_id, leg))


def _standing(names: Sequence[str]) -> Iterator[str]:
    """Leave out the segments that a longer one of the same writer holds."""
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
