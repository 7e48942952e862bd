"""Ask the snapshot for the newest answers of items; items are never all in memory, however many there are."""

from array import array
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain, islice

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.model.tables.snapshot import ANSWERED
from proofsweep.store.newest_rows import merged
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.snapshot import COLUMNS, Snapshot, SnapshotFile, files_of

# Chosen: so few items are looked for in the files that may hold them, instead of in all. Half reads a whole snapshot
# for a middling ingest; twice gains nothing, since so many items lie in every file.
_FEW_ITEMS = 5_000


class HashedItems:
    """A set of item IDs, or of keys with one, in eight bytes each: a set of text needs a gigabyte for ten million."""

    def __init__(self, item_ids: Iterable[Hashable]) -> None:
        hashes = pa.array(array("q", map(hash, item_ids)), pa.int64())
        self._hashes = memoryview(hashes.take(pc.array_sort_indices(hashes)).buffers()[1] or b"").cast("q")
        self._count = len(hashes)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, item_id: Hashable) -> bool:
        hashed = hash(item_id)
        place = bisect_left(self._hashes, hashed, 0, self._count)
        return place < self._count and self._hashes[place] == hashed


def newest_answers(results: Results, environment: str, item_ids: Iterable[str]) -> Iterator[pa.Table]:
    """Give the newest answer of each of these items in an environment, in tables of some thousand rows, sorted by item.

    An answer is `accepted` or `rejected`; an item without one has no row. The columns are those of the snapshot, which
    is as new as the last leg that ended.

    Raises:
        ResultsError: the snapshot cannot be read.
    """
    rest = iter(item_ids)
    few = sorted(islice(rest, _FEW_ITEMS))
    wanted = HashedItems(chain(few, rest))
    near = few if len(wanted) == len(few) else None
    snapshot = Snapshot(results.store)
    chosen = [[file for file in files_of(entry) if _may_hold(file, near)] for entry in snapshot.entries()]
    for table in merged([snapshot.tables_of(files) for files in chosen]):
        answers = table.filter(_is_answer(environment))
        found = [str(item_id) in wanted for item_id in answers["item_id"].to_pylist()]
        if any(found):
            yield answers.filter(pa.array(found)).select(COLUMNS)


def _is_answer(environment: str) -> pc.Expression:
    return (pc.field("environment") == environment) & pc.field("outcome").isin(ANSWERED)


def _may_hold(file: SnapshotFile, items: Sequence[str] | None) -> bool:
    """Say whether a file may hold one of some sorted items; any file may if they are too many to say."""
    if items is None:
        return True
    place = bisect_left(items, file.first)
    return place < len(items) and items[place] <= file.last
