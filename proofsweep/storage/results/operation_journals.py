"""What operations at work have to keep before it is in parts: a file for each step, durable before the next one."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

from proofsweep.domain import layout
from proofsweep.errors import ResultsError
from proofsweep.storage.results.plans_and_parts import json_bytes
from proofsweep.storage.results.store import Store

_JOURNAL = "journal"
_Step = TypeVar("_Step")


class OperationJournals(ABC, Generic[_Step]):
    """The journals in a store, one for each operation whose rows are not all in parts."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def open(self) -> Sequence[str]:
        """List the operations that have a journal, the oldest first."""
        return sorted({layout.run_of(name) for name in self._store.names(_JOURNAL)})

    def add(self, operation_id: str, number: int, step: _Step) -> None:
        """Write one step, durably.

        Raises:
            ResultsError: the store cannot be written.
        """
        self._store.create(f"{_JOURNAL}/{operation_id}-{number:08}.json", json_bytes(self.cells_of(step)))

    def read(self, operation_id: str) -> Iterator[_Step]:
        """Read the steps of an operation, in their order.

        Raises:
            ResultsError: one is damaged.
        """
        for name in self._names(operation_id):
            try:
                yield self.step_of(json.loads(self._store.read(name) or b""))
            except (ValueError, TypeError, KeyError) as damage:
                raise ResultsError(f"{name} in {self._store.url} is damaged. Restore it from a backup.") from damage

    def delete(self, operation_id: str) -> None:
        """Delete a journal whose rows are in parts."""
        for name in self._names(operation_id):
            self._store.delete(name)

    @abstractmethod
    def cells_of(self, step: _Step) -> object:
        """Give what is written of a step."""

    @abstractmethod
    def step_of(self, cells: Any) -> _Step:  # noqa: ANN401 - JSON
        """Give a step from what was written."""

    def _names(self, operation_id: str) -> list[str]:
        return [name for name in self._store.names(_JOURNAL) if layout.run_of(name) == operation_id]
