"""What a recovery is about to write: its rows are on disk before the first of their files is."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from proofsweep.domain import layout
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import ResultsError
from proofsweep.storage.results.plans_and_parts import json_bytes
from proofsweep.storage.results.store import Store, open_store

# Inside the results store, so that one URL holds everything.
_FOLDER = "_recovering"
_JOURNAL = "journal"


def recovering_store(results_url: str) -> Store:
    """Open the part of a results store in which recoveries keep their claims and journals."""
    return open_store(f"{results_url.rstrip('/')}/{_FOLDER}")


class RecoveryJournals:
    """The journals in a recovering store, one for each recovery whose rows are not all in parts."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def open(self) -> Sequence[str]:
        """List the recoveries that have a journal, the oldest first."""
        return sorted({layout.run_of(name) for name in self._store.names(_JOURNAL)})

    def add(self, operation_id: str, number: int, rows: Sequence[Row]) -> None:
        """Write rows of `recoveries`, durably.

        Raises:
            ResultsError: the store cannot be written.
        """
        self._store.create(f"{_JOURNAL}/{operation_id}-{number:08}.json", json_bytes(rows))

    def read(self, operation_id: str) -> Iterator[Row]:
        """Read the rows of a recovery, in their order.

        Raises:
            ResultsError: some are damaged.
        """
        for name in self._names(operation_id):
            try:
                rows: list[dict[str, Any]] = json.loads(self._store.read(name) or b"")
                yield from [row | {"acted_at": datetime.fromisoformat(row["acted_at"])} for row in rows]
            except (ValueError, TypeError, KeyError) as damage:
                raise ResultsError(f"{name} in {self._store.url} is damaged. Restore it from a backup.") from damage

    def delete(self, operation_id: str) -> None:
        """Delete a journal whose rows are in parts."""
        for name in self._names(operation_id):
            self._store.delete(name)

    def _names(self, operation_id: str) -> list[str]:
        return [name for name in self._store.names(_JOURNAL) if layout.run_of(name) == operation_id]
