"""Finished work that is in no part yet: small segments in the results store, written at least every second."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from proofsweep.batch import layout
from proofsweep.batch.rows.columns import Row
from proofsweep.storage.results import SCHEMAS, Results

FLUSH_SECONDS = 1.0


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
                waiting = {table: list(rows) for table, rows in self._waiting.items()}
            self._segments += 1
            for table in ("exchanges", "verdicts"):
                self._write(table, waiting[table])

    def _write(self, table: str, rows: Sequence[Row]) -> None:
        if rows:
            folder = layout.journal_folder(self.run_id, self.leg)
            name = f"{folder}/{table}-{self.writer}-{self._segments:06}.arrow"
            self.results.store.create(name, _arrow_of(rows, SCHEMAS[table]))
            with self._lock:
                del self._waiting[table][: len(rows)]


def read_journal(results: Results, run_id: str, leg: int, table: str) -> Iterator[pa.Table]:
    """Read a leg's segments of one table, by whichever processes, oldest first."""
    for name in _segments(results, run_id, leg):
        content = results.store.read(name) if f"/{table}-" in name else None
        if content is not None:
            yield pa.ipc.open_stream(content).read_all()


def delete_journal(results: Results, run_id: str, leg: int) -> None:
    """Take a leg's segments away, after their rows were read back from parts."""
    for name in _segments(results, run_id, leg):
        results.store.delete(name)


def _segments(results: Results, run_id: str, leg: int) -> list[str]:
    return results.store.names(layout.journal_folder(run_id, leg))


def _arrow_of(rows: Sequence[Row], schema: pa.Schema) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        writer.write_table(pa.Table.from_pylist(list(rows), schema=schema))
    return sink.getvalue().to_pybytes()
