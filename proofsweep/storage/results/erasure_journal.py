"""The answers of an erasure that is at work: each is on disk before the next proof is asked for."""

from datetime import datetime
from typing import Any

from proofsweep.domain.erasure import Erasure
from proofsweep.storage.results.operation_journals import OperationJournals
from proofsweep.storage.results.store import Store, open_store

# Inside the results store, so that one URL holds everything.
_FOLDER = "_erasing"
_INSTANTS = ("asked_at", "answered_at", "erased_at")


def erasing_store(results_url: str) -> Store:
    """Open the part of a results store in which erasures keep their claims and journals."""
    return open_store(f"{results_url.rstrip('/')}/{_FOLDER}")


class ErasureJournals(OperationJournals[Erasure]):
    """The journals in an erasing store; a step is one answer."""

    def cells_of(self, step: Erasure) -> object:
        """Give the answer's row."""
        return step.row()

    def step_of(self, cells: Any) -> Erasure:  # noqa: ANN401 - JSON
        """Give the answer."""
        instants = {at: None if cells[at] is None else datetime.fromisoformat(cells[at]) for at in _INSTANTS}
        return Erasure(**cells | instants)
