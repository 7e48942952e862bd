"""The answers of an erasure that is at work: each is on disk before the next proof is asked for."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from proofsweep.domain import layout
from proofsweep.domain.erasure import Erasure
from proofsweep.errors import ResultsError
from proofsweep.storage.results.plans_and_parts import json_bytes
from proofsweep.storage.results.store import Store, open_store

# Inside the results store, so that one URL holds everything.
_FOLDER = "_erasing"
_JOURNAL = "journal"
_INSTANTS = ("asked_at", "answered_at", "erased_at")


def erasing_store(results_url: str) -> Store:
    """Open the part of a results store in which erasures keep their claims and journals."""
    return open_store(f"{results_url.rstrip('/')}/{_FOLDER}")


class ErasureJournals:
    """The journals in an erasing store, one for each operation that has not put its rows into parts."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def open(self) -> Sequence[str]:
        """List the operations that have a journal, the oldest first."""
        return sorted({layout.run_of(name) for name in self._store.names(_JOURNAL)})

    def add(self, operation_id: str, number: int, erasure: Erasure) -> None:
        """Write one answer, durably.

        Raises:
            ResultsError: the store cannot be written.
        """
        self._store.create(f"{_JOURNAL}/{operation_id}-{number:08}.json", json_bytes(erasure.row()))

    def read(self, operation_id: str) -> Iterator[Erasure]:
        """Read the answers of an operation, in their order.

        Raises:
            ResultsError: one is damaged.
        """
        for name in self._names(operation_id):
            try:
                cells: dict[str, Any] = json.loads(self._store.read(name) or b"")
                instants = {at: None if cells[at] is None else datetime.fromisoformat(cells[at]) for at in _INSTANTS}
                yield Erasure(**cells | instants)
            except (ValueError, TypeError, KeyError) as damage:
                raise ResultsError(f"{name} in {self._store.url} is damaged. Restore it from a backup.") from damage

    def delete(self, operation_id: str) -> None:
        """Delete a journal whose answers are in parts."""
        for name in self._names(operation_id):
            self._store.delete(name)

    def _names(self, operation_id: str) -> list[str]:
        return [name for name in self._store.names(_JOURNAL) if layout.run_of(name) == operation_id]
