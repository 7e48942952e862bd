"""The snapshot of newest answers in the store: sorted Parquet files, each written once, and entries that name them.

Each leg that ends adds an entry with its own rows. Entries are merged when they are many, the small ones first, so that
an hourly run of a few files does not write a snapshot of millions of items again. Derived.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import Plan
from proofsweep.store.derived_log import DerivedLog, Entry
from proofsweep.store.layout import SNAPSHOT_FOLDER
from proofsweep.store.newest_rows import STEP_ROWS, merged
from proofsweep.store.plans_and_parts import parquet_of
from proofsweep.store.run_records import RunRecord
from proofsweep.store.store import Store
from proofsweep.store.tables import schemas

COLUMNS = schemas.SNAPSHOT.names

# Some 2 MB: 800 objects for ten million items, and a reader of a few items reads a file for each.
_FILE_ROWS = 12_500
# Entries of the snapshot before small ones are merged.
_MOST_ENTRIES = 6
_MUCH_LARGER = 4

_ORDERING = ["item_id", "environment", "outcome", "epoch", "finished_at", "run_id", "leg", "manifest_row"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFile:
    name: str
    rows: int
    first: str
    last: str


class Snapshot:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._log = DerivedLog(store, SNAPSHOT_FOLDER)

    def entries(self) -> list[Entry]:
        """Read which files there are, and of which legs; ResultsError if an entry cannot be read."""
        return self._log.entries()

    def rows(self, columns: Sequence[str] = (), entries: Sequence[Entry] | None = None) -> Iterator[pa.Table]:
        """Return the whole snapshot, sorted by item: of each item and environment one answer, one failure, or both."""
        wanted = [name for name in COLUMNS if name in columns or name in _ORDERING] if columns else COLUMNS
        chosen = self.entries() if entries is None else entries
        return merged([self.tables_of(files_of(entry), wanted) for entry in chosen])

    def tables_of(self, files: Iterable[SnapshotFile], columns: Sequence[str] = COLUMNS) -> Iterator[pa.Table]:
        """Read files one by one, in small tables; of each file, one of them is in memory."""
        return (table for file in files for table in self._steps_of(file, columns))

    def add(self, tables: Iterator[pa.Table], legs: Mapping[str, Sequence[int]]) -> None:
        """Write the newest rows of some legs, sorted as `reduced` gives them; then merge entries if they are many."""
        self._write(tables, legs, [])
        if len(self._log.names()) > _MOST_ENTRIES and len(entries := self.entries()) > _MOST_ENTRIES:
            small = _small_ones(entries)
            self._write(merged([self.tables_of(files_of(entry)) for entry in small]), legs_in(small), small)

    def _write(self, tables: Iterator[pa.Table], legs: Mapping[str, Sequence[int]], replaced: Sequence[Entry]) -> None:
        name = self._log.new_name()
        folder = name.removesuffix(".json.gz")
        files = [self._create(f"{folder}/{number:05}.parquet", table) for number, table in enumerate(_in_files(tables))]
        body: dict[str, object] = {
            "files": [asdict(file) for file in files],
            "rows": sum(file.rows for file in files),
            "legs": {run_id: sorted(numbers) for run_id, numbers in legs.items()},
        }
        self._log.add(body, name=name, objects=[file.name for file in files], replaced=replaced)

    def _create(self, name: str, table: pa.Table) -> SnapshotFile:
        self._store.create(name, parquet_of(table))
        items = table["item_id"]
        return SnapshotFile(name=name, rows=table.num_rows, first=items[0].as_py(), last=items[-1].as_py())

    def _steps_of(self, file: SnapshotFile, columns: Sequence[str]) -> Iterator[pa.Table]:
        content = self._store.read(file.name)
        schema = pa.schema(map(schemas.SNAPSHOT.field, columns))
        try:
            read = pq.ParquetFile(pa.BufferReader(content or b""))
            for batch in read.iter_batches(STEP_ROWS, columns=list(columns), use_threads=False):
                yield schemas.conformed(pa.Table.from_batches([batch]), schema)
        except (pa.ArrowException, OSError) as damage:
            what = "missing" if content is None else "damaged"
            raise ResultsError(
                f"{file.name} in the results store {self._store.url} is {what}. It is derived: delete "
                f"{SNAPSHOT_FOLDER}, and it is made anew."
            ) from damage


def files_of(entry: Entry) -> list[SnapshotFile]:
    body: dict[str, Any] = entry.body
    return [SnapshotFile(**file) for file in body["files"]]


def legs_in(entries: Iterable[Entry]) -> dict[str, list[int]]:
    found: dict[str, set[int]] = {}
    for entry in entries:
        body: dict[str, Any] = entry.body
        for run_id, legs in body["legs"].items():
            found.setdefault(run_id, set()).update(legs)
    return {run_id: sorted(legs) for run_id, legs in found.items()}


def missing_legs(entries: Iterable[Entry], runs: Iterable[RunRecord]) -> Iterator[tuple[Plan, list[int]]]:
    """Yield the ended legs of some runs that no entry holds the rows of."""
    held = legs_in(entries)
    for run in runs:
        legs = [leg.leg for leg in run.legs if leg.leg not in held.get(run.plan.run_id, [])]
        if legs:
            yield run.plan, legs


def _small_ones(entries: Sequence[Entry]) -> list[Entry]:
    """Choose what to merge: the smallest two, and each next one that is not much larger than those before it."""
    by_size = sorted(entries, key=attrgetter("rows"))
    chosen = by_size[:2]
    for entry in by_size[2:]:
        if entry.rows > _MUCH_LARGER * sum(each.rows for each in chosen):
            break
        chosen.append(entry)
    return chosen


def _in_files(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    waiting = schemas.SNAPSHOT.empty_table()
    for table in tables:
        waiting = pa.concat_tables([waiting, table.select(COLUMNS).cast(schemas.SNAPSHOT)])
        while waiting.num_rows >= _FILE_ROWS:
            yield waiting.slice(0, _FILE_ROWS)
            waiting = waiting.slice(_FILE_ROWS)
    if waiting.num_rows:
        yield waiting
