"""What no leg of a run has finished yet."""

import threading
from collections.abc import Sequence

from proofsweep.domain.items import WorkItem
from proofsweep.domain.runs import Plan, Slice, slices_of
from proofsweep.storage.results.plans_and_parts import Results


class RemainingItems:
    """Read from the store: the items of the shards less the rows of the parts. Safe to use from several threads."""

    def __init__(self, results: Results, plan: Plan) -> None:
        self._results = results
        self._plan = plan
        self._shards: dict[int, Sequence[WorkItem]] = {}
        self._lock = threading.Lock()

    def slices(self) -> list[Slice]:
        """Cut what remains into Prefect tasks."""
        finished = {shard: self._results.finished_rows(self._plan, shard) for shard in range(self._plan.shards)}
        return [piece for piece in slices_of(self._plan) if not finished[piece.shard].issuperset(self._rows(piece))]

    def items(self, piece: Slice) -> list[WorkItem]:
        """Give the items of a slice that remain. A run of one shard reads it once, for all its slices."""
        with self._lock:
            items = self._shards.get(piece.shard)
            if items is None:
                items = self._items_of_shard(piece.shard)
                self._shards = {piece.shard: items} if self._plan.shards == 1 else {}
        wanted = self._rows(piece)
        return [item for item in items if item.manifest_row in wanted]

    def _rows(self, piece: Slice) -> range:
        first = piece.shard * self._plan.shard_items
        return range(first + piece.first, first + piece.last)

    def _items_of_shard(self, shard: int) -> list[WorkItem]:
        finished = self._results.finished_rows(self._plan, shard)
        items = self._results.shard_items(self._plan.run_id, shard)
        return [item for item in items if item.manifest_row not in finished]
