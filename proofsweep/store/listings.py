"""What a catalog lists: the items of a run, those of the whole catalog that it leaves out, and what is gone since."""

import posixpath
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from tempfile import TemporaryFile

import pyarrow as pa

from proofsweep.config.locations import is_within
from proofsweep.domain.items import WorkItem, raw_bytes, utf8_text
from proofsweep.domain.reasons import Reason
from proofsweep.domain.runs import INGEST, Plan
from proofsweep.store import layout
from proofsweep.store.known_rows import HashedItems
from proofsweep.store.parts import ITEMS, Results, parquet_of, read_table
from proofsweep.store.rows import planned_columns
from proofsweep.store.runs import RunRecord

_OBJECT_ROWS = 100_000  # items in one object
_ROWS_AT_ONCE = 1_000  # items that are encoded at once
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")

_NAMED = pa.schema([ITEMS.field(name) for name in ("item_id", "relative_path")])
_PLACED = pa.schema([ITEMS.field("audio")])
GONE = pa.schema([pa.field("item_id", pa.string(), nullable=False)])
"""The items that the listing before had, and this one has not."""


class Listing:
    """Items in their order, on local disk: nothing is written to the store before all of them are counted."""

    def __init__(self) -> None:
        self.rows = 0
        self.unread: list[str] = []  # the paths of folders that could not be read, relative to the root
        self._hashes = array("q")
        self._places = array("q")
        self._waiting: list[WorkItem] = []
        self._file = TemporaryFile()  # noqa: SIM115 - closed with the listing
        weakref.finalize(self, self._file.close)
        self._writer = pa.ipc.new_stream(self._file, ITEMS, options=_COMPRESSED)

    def add(self, item: WorkItem) -> None:
        self.rows += 1
        ineligible = item.ineligible
        if ineligible is not None and ineligible.reason == Reason.UNREADABLE_FOLDER:
            path = item.relative_path or ""
            if path.endswith("/"):
                self.unread.append(path)
        self._waiting.append(item)
        if len(self._waiting) == _ROWS_AT_ONCE:
            self._write_waiting()

    def tables(self, rows_each: int) -> Iterator[pa.Table]:
        """Yield all items in tables of so many rows, the last one with the rest; nothing can be added afterwards."""
        self._write_waiting()
        self._writer.close()
        self._file.seek(0)
        waiting = ITEMS.empty_table()
        for batch in pa.ipc.open_stream(self._file):
            rows = pa.Table.from_batches([batch])
            waiting = pa.concat_tables([waiting, rows])
            while waiting.num_rows >= rows_each:
                yield waiting.slice(0, rows_each)
                waiting = waiting.slice(rows_each)
        if waiting.num_rows:
            yield waiting

    def write(self, results: Results, run_id: str, which: layout.ItemList = "listed", rows: int = _OBJECT_ROWS) -> None:
        for number, table in enumerate(self.tables(rows)):
            results.store.create(layout.items_name(run_id, number, which), parquet_of(table))

    @property
    def items(self) -> HashedItems:
        """The items, each as often as it is listed."""
        self._write_waiting()
        return HashedItems(self._hashes)

    @property
    def places(self) -> HashedItems:
        """Where the audio of the items is."""
        self._write_waiting()
        return HashedItems(self._places)

    def _write_waiting(self) -> None:
        items = self._waiting
        if not items:
            return
        self._hashes.extend(hash(item.item_id) for item in items)
        self._places.extend(hash(utf8_text(item.audio)) for item in items)
        self._writer.write_batch(pa.RecordBatch.from_pydict(planned_columns(items), schema=ITEMS))
        self._waiting = []


def gone_since(results: Results, listing: Listing, environment: str, identity: str) -> set[str]:
    """Return the items that the listing before had, and this one has not."""
    listings = newest_listings(results.log.runs().newest_first())
    run = listings.get((environment, identity))
    if run is None:
        return set()
    listed = listing.items
    unread = tuple(listing.unread)
    gone = set[str]()
    for name in listing_objects(results, run):
        table = read_table(results.store, name, _NAMED)
        item_ids = table["item_id"].to_pylist()
        paths = table["relative_path"].to_pylist()
        for item_id, path in zip(item_ids, paths, strict=True):
            # What lies in a folder that could not be read is not known to be gone.
            if item_id not in listed and not (path or "").startswith(unread):
                gone.add(str(item_id))
    return gone


def write_gone(results: Results, run_id: str, listing: Listing, environment: str, identity: str) -> None:
    """Write which items are gone since the listing before; nothing if there are none."""
    gone = gone_since(results, listing, environment, identity)
    if gone:
        items = pa.table({"item_id": sorted(gone)}, schema=GONE)
        results.store.create(layout.items_name(run_id, 0, "gone"), parquet_of(items))


def newest_listings(runs: Iterable[RunRecord]) -> dict[tuple[str, str], RunRecord]:
    """Return the newest run that listed the whole catalog, by environment and identity; `runs` come newest first."""
    newest: dict[tuple[str, str], RunRecord] = {}
    for run in runs:
        # A run that was given up lists nothing.
        if not (run.plan.lists_a_part or run.is_given_up):
            newest.setdefault((run.plan.environment, run.plan.identity), run)
    return newest


def newest_whole(plans: Sequence[Plan]) -> Plan | None:
    """Return the first of some plans that is of a whole catalog; one of a part only if there is nothing else."""
    for plan in plans:
        if not plan.has_chosen_rows:
            return plan
    return plans[0] if plans else None


def listing_objects(results: Results, run: RunRecord) -> list[str]:
    """Name the objects that list the whole catalog of a run: its planned items, if it left nothing out."""
    which: layout.ItemList = "listed" if run.plan.skipped else "items"
    return results.store.names(layout.items_folder(run.plan.run_id, which))


def places_of_others(results: Results, environment: str, identity: str) -> Iterator[bytes]:
    """Yield the locations of the audio that the other catalogs of an environment list."""
    listings = newest_listings(results.log.runs().counted_first())
    for (where, of_catalog), run in listings.items():
        if where != environment or of_catalog == identity:
            continue
        for name in listing_objects(results, run):
            yield from _places_in(results, name)


def _places_in(results: Results, name: str) -> list[bytes]:
    audio = read_table(results.store, name, _PLACED)["audio"].to_pylist()
    return [place for place in audio if place is not None]


def held_before(results: Results, environment: str, identity: str, folders: Sequence[str]) -> list[str]:
    """Return those of some folders in which the newest whole listing of a catalog had files, or that it missed too."""
    runs = results.log.runs()
    # Where passes over a watched folder move files away, an empty folder is normal.
    watched = {plan.catalog for plan in runs.plans(environment) if plan.catalog_kind == INGEST}
    places: dict[bytes, str] = {}  # the folders that nobody empties, by what paths in them begin with
    for folder in folders:
        if not _is_in_any(utf8_text(folder), watched):
            places[raw_bytes(posixpath.join(folder, ""))] = folder
    listings = newest_listings(runs.newest_first())
    run = listings.get((environment, identity))
    if not places or run is None:
        return []
    held = set[bytes]()
    beginnings = tuple(places)
    for name in listing_objects(results, run):
        for audio in _places_in(results, name):
            if audio.startswith(beginnings):  # few are: this one call spares a call for each of the folders
                held.update(place for place in places if audio.startswith(place))
    return [folder for place, folder in places.items() if place in held]


def _is_in_any(location: str, folders: Iterable[str]) -> bool:
    return any(is_within(location, folder) for folder in folders)
