"""What operations at work have to keep before it is in parts: a file for each step, durable before the next one."""

import json
from collections.abc import Iterator, Sequence

from proofsweep.errors import ResultsError
from proofsweep.model import layout
from proofsweep.model.tables.columns import Column, Row, with_instants
from proofsweep.store.store import Store, json_bytes

_JOURNAL = "journal"


class OperationJournals:
    """The journals in a store, one for each operation whose rows are not all in parts; a step is some rows."""

    def __init__(self, store: Store, columns: Sequence[Column]) -> None:
        """Take the store, and the columns of the table whose rows are kept."""
        self._store = store
        self._columns = columns

    def open(self) -> Sequence[str]:
        """List the operations that have a journal, the oldest first."""
        return sorted({layout.run_of(name) for name in self._store.names(_JOURNAL)})

    def add(self, operation_id: str, number: int, rows: Sequence[Row]) -> None:
        """Write one step, durably; ResultsError if the store cannot be written."""
        self._store.create(f"{_JOURNAL}/{operation_id}-{number:08}.json", json_bytes(rows))

    def read(self, operation_id: str) -> Iterator[Row]:
        """Read the rows of an operation, in their order; ResultsError if a step is damaged."""
        for name in self._names(operation_id):
            try:
                document = json.loads(self._store.read(name) or b"")
                yield from [with_instants(row, self._columns) for row in [*document]]
            except (ValueError, TypeError, AttributeError) as damage:
                raise ResultsError(f"{name} in {self._store.url} is damaged. Restore it from a backup.") from damage

    def delete(self, operation_id: str) -> None:
        """Delete a journal whose rows are in parts."""
        for name in self._names(operation_id):
            self._store.delete(name)

    def _names(self, operation_id: str) -> list[str]:
        return [name for name in self._store.names(_JOURNAL) if layout.run_of(name) == operation_id]
