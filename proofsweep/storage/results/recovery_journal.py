"""What a recovery is about to write: its rows are on disk before the first of their files is."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from proofsweep.domain.tables.columns import Row
from proofsweep.storage.results.operation_journals import OperationJournals
from proofsweep.storage.results.store import Store, open_store

# Inside the results store, so that one URL holds everything.
_FOLDER = "_recovering"


def recovering_store(results_url: str) -> Store:
    """Open the part of a results store in which recoveries keep their claims and journals."""
    return open_store(f"{results_url.rstrip('/')}/{_FOLDER}")


class RecoveryJournals(OperationJournals[Sequence[Row]]):
    """The journals in a recovering store; a step is the rows of some files."""

    def cells_of(self, step: Sequence[Row]) -> object:
        """Give the rows."""
        return step

    def step_of(self, cells: Any) -> Sequence[Row]:  # noqa: ANN401 - JSON
        """Give the rows, with their instants."""
        return [row | {"acted_at": datetime.fromisoformat(row["acted_at"])} for row in cells]
