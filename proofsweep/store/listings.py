"""The listing of a whole catalog: all its items, also those that a run leaves out; and what is gone since the last."""

import io
import weakref
from array import array
from collections.abc import Iterable, Iterator
from tempfile import TemporaryFile

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from proofsweep.domain.items import Row, WorkItem
from proofsweep.domain.runs import INGEST
from proofsweep.store import layout, schemas
from proofsweep.store.known_rows import HashedItems
from proofsweep.store.parts import Results, parquet_of
from proofsweep.store.rows import planned_row
from proofsweep.store.runs import RunIndex, RunRecord

# Items in one object.
_OBJECT_ROWS = 100_000
# Items that are encoded at once.
_ROWS_AT_ONCE = 1_000

GONE = pa.schema([pa.field("item_id", pa.string(), nullable=False)])
"""The items that the listing before had, and this one has not."""


class Listing:
    """The items of a whole catalog in its order, as Parquet objects on local disk until its run is written."""

    def __init__(self) -> None:
        self.rows = 0
        self._hashes = array("q")
        self._spool = TemporaryFile()  # noqa: SIM115 - closed with the listing
        weakref.finalize(self, self._spool.close)
        self._sizes: list[int] = []
        self._waiting: list[Row] = []
        self._packed = io.BytesIO()
        self._writer: pq.ParquetWriter | None = None

    def add(self, item: WorkItem) -> None:
        self.rows += 1
        self._hashes.append(hash(item.item_id))
        self._waiting.append(planned_row(item))
        if len(self._waiting) == _ROWS_AT_ONCE:
            self._encode()
        if self.rows % _OBJECT_ROWS == 0:
            self._close_object()

    def write(self, results: Results, run_id: str) -> None:
        """Write the objects of a run; nothing can be added afterwards. ResultsError if the store cannot be written."""
        self._close_object()
        self._spool.seek(0)
        for number, size in enumerate(self._sizes):
            results.store.create(layout.listed_name(run_id, number), self._spool.read(size))

    @property
    def items(self) -> HashedItems:
        """The items, each as often as it is listed."""
        return HashedItems.of_hashes(self._hashes)

    def without(self, item_ids: Iterable[str]) -> Iterator[str]:
        listed = self.items
        return (item_id for item_id in item_ids if item_id not in listed)

    def _encode(self) -> None:
        if self._waiting:
            self._writer = self._writer or pq.ParquetWriter(self._packed, schemas.ITEMS, compression="zstd")
            self._writer.write_batch(pa.RecordBatch.from_pylist(self._waiting, schema=schemas.ITEMS))
            self._waiting = []

    def _close_object(self) -> None:
        self._encode()
        if self._writer is not None:
            self._writer.close()
            self._sizes.append(self._spool.write(self._packed.getvalue()))
            self._packed, self._writer = io.BytesIO(), None


def write_gone(results: Results, run_id: str, listing: Listing, environment: str, identity: str) -> None:
    """Write which items the listing before had, and this one has not; nothing if there are none."""
    gone = pa.table({"item_id": pa.array(set(listing.without(_listed_before(results, environment, identity))))})
    if gone.num_rows:
        ordered = gone.take(pc.sort_indices(gone, [("item_id", "ascending")])).cast(GONE)
        results.store.create(layout.gone_name(run_id), parquet_of(ordered))


def newest_listings(runs: Iterable[RunRecord]) -> dict[tuple[str, str], RunRecord]:
    """Return of each environment and catalog identity the newest run that listed the whole; runs come newest first."""
    newest: dict[tuple[str, str], RunRecord] = {}
    for run in runs:
        if run.plan.catalog_kind != INGEST:
            newest.setdefault((run.plan.environment, run.plan.identity), run)
    return newest


def known_elsewhere(
    results: Results, environment: str, identity: str, root: str | None, items: HashedItems
) -> Iterator[tuple[RunRecord, int]]:
    """Yield runs of other lists without a name, of the same root, that list most of these items; and how many."""
    for (label, other), run in newest_listings(RunIndex(results).refreshed().newest_first()).items():
        is_of_root = (label, run.plan.catalog_root, run.plan.catalog_kind) == (environment, root, "manifest")
        if is_of_root and other != identity and ("://" in other or other.startswith("/")):
            columns = (results.object_table(name, ["item_id"])["item_id"] for name in listing_objects(results, run))
            known = len({item_id for column in columns for item_id in column.to_pylist() if item_id in items})
            if 2 * known > len(items):
                yield run, known


def listing_objects(results: Results, run: RunRecord) -> list[str]:
    """Name the objects that list the whole catalog of a run: its planned items, if it left nothing out."""
    folder = layout.listed_folder if run.plan.skipped else layout.items_folder
    return results.store.names(folder(run.plan.run_id))


def _listed_before(results: Results, environment: str, identity: str) -> Iterator[str]:
    run = newest_listings(RunIndex(results).refreshed().newest_first()).get((environment, identity))
    for name in [] if run is None else listing_objects(results, run):
        for item_id in results.object_table(name, ["item_id"])["item_id"].to_pylist():
            yield str(item_id)
