"""The newest answer of each item, kept as sorted Parquet files and entries that several processes may add at once."""

import gzip
import json
import secrets
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from proofsweep.domain.errors import ResultsError
from proofsweep.store import schemas
from proofsweep.store.layout import SNAPSHOT_FOLDER
from proofsweep.store.objects import Store
from proofsweep.store.parts import parquet_of
from proofsweep.store.tables import ANSWERED

COLUMNS = schemas.SNAPSHOT.names

_ENDING = ".json.gz"
# How long an entry that was replaced is kept for readers that listed it before.
_GRACE = timedelta(minutes=10)
_ATTEMPTS = 4

# Rows that are sorted in memory at once: 6 MB, and as much again for each of three copies.
PORTION_ROWS = 8_000
# Rows that are read of a source at once.
STEP_ROWS = 1_000
# Files on disk that are merged at once.
_MOST_FILES = 16
# Some 2 MB: 800 objects for ten million items, and a reader of a few items reads a file for each.
_FILE_ROWS = 12_500
# Entries of the snapshot before small ones are merged.
_MOST_ENTRIES = 6
_MUCH_LARGER = 4

_ORDER: list[tuple[str, Literal["ascending", "descending"]]] = [
    ("item_id", "ascending"),
    ("environment", "ascending"),
    ("_answered", "descending"),
    ("epoch", "descending"),
    ("finished_at", "descending"),
    ("run_id", "descending"),
    ("leg", "descending"),
    ("manifest_row", "descending"),
]
_KEY = ("item_id", "environment", "_answered")
# Columns without which rows cannot be ordered and reduced.
_ORDERING = {"outcome", *(name for name, _ in _ORDER)}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: what it says, the objects that belong to it, and the objects that it replaces."""

    name: str
    body: dict[str, object]
    objects: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows its objects have; 0 for an entry without such."""
        rows = self.body.get("rows")
        return rows if isinstance(rows, int) else 0


@dataclass(frozen=True, slots=True)
class DerivedLog:
    store: Store
    folder: str
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def names(self) -> list[str]:
        return [name for name in self.store.names(self.folder) if name.endswith(_ENDING)]

    def entries(self) -> list[Entry]:
        """Read the entries that no other replaces; ResultsError if one is damaged, or the log changes all the time."""
        for _ in range(_ATTEMPTS):
            found = self._read_newest_first(self.names())
            if found is not None:
                return found
        raise ResultsError(f"{self.folder} in the results store {self.store.url} changes while it is read; try again.")

    def new_name(self) -> str:
        """Return a name for a new entry that no other process uses; it sorts by time."""
        return f"{self.folder}/{_stamp(self.clock())}-{secrets.token_hex(4)}{_ENDING}"

    def add(
        self,
        body: dict[str, object],
        *,
        name: str | None = None,
        objects: Sequence[str] = (),
        replaced: Sequence[Entry] = (),
        also: Sequence[str] = (),
    ) -> None:
        """Write an entry, in the place of others if so; delete what was replaced long ago.

        `objects` were written for this entry; `replaced` entries have their facts in this one; `also` names further
        objects to replace, which were not read.
        """
        limit = f"{self.folder}/{_stamp(self.clock() - _GRACE)}"
        old = [name for entry in replaced if entry.name < limit for name in entry.replaces]
        waiting = [name for entry in replaced if entry.name >= limit for name in entry.replaces]
        names = [*also, *waiting, *(name for entry in replaced for name in (entry.name, *entry.objects))]
        document = {"objects": list(objects), "replaces": sorted({*names} - {*old}), "body": body}
        content = gzip.compress(json.dumps(document, default=str).encode("utf-8", "replace"), compresslevel=5)
        self.store.create(name or self.new_name(), content)
        for each in old:
            self.store.delete(each)

    def _read_newest_first(self, names: Sequence[str]) -> list[Entry] | None:
        found: list[Entry] = []
        damaged: set[str] = set()
        replaced: set[str] = set()
        for name in reversed(names):
            if name not in replaced:
                content = self.store.read(name)
                if content is None:
                    return None
                entry = _entry(name, content)
                damaged |= {name} if entry is None else set()
                found += [] if entry is None else [entry]
                replaced.update(() if entry is None else entry.replaces)
        for name in sorted(damaged - replaced):
            raise ResultsError(
                f"{name} in the results store {self.store.url} is damaged. It is derived: delete "
                f"{self.folder}, and it is made anew."
            )
        return [entry for entry in found if entry.name not in replaced]


def _entry(name: str, content: bytes) -> Entry | None:
    try:
        document = json.loads(gzip.decompress(content))
        return Entry(name, document["body"], tuple(document["objects"]), tuple(document["replaces"]))
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error):
        return None


def _stamp(now: datetime) -> str:
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%S%f}"


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
        folder = name.removesuffix(_ENDING)
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


def newest_rows(rows: pa.Table) -> pa.Table:
    """Sort rows, and keep the newest of each item and environment that is an answer, and the newest that is none."""
    if rows.num_rows == 0:
        return rows
    answered = pc.is_in(rows["outcome"], pa.array(ANSWERED))
    marked = rows.append_column("_answered", pc.cast(answered, pa.int8()))
    ordered = marked.take(pc.sort_indices(marked, sort_keys=_ORDER)).combine_chunks()
    key = [ordered[name] for name in _KEY]
    changes = [pc.not_equal(column.slice(1), column.slice(0, len(column) - 1)) for column in key]
    is_first = [True, *pc.or_(pc.or_(changes[0], changes[1]), changes[2]).to_pylist()]
    return _with_given_tags(ordered.filter(pa.array(is_first)), ordered).drop_columns(["_answered"])


def _with_given_tags(newest: pa.Table, ordered: pa.Table) -> pa.Table:
    if newest.num_rows == ordered.num_rows or "tags" not in newest.column_names:
        return newest
    lacking = newest.filter(pc.field("tags").is_null())["item_id"].unique()
    given = ordered.filter(pc.and_(pc.is_valid(ordered["tags"]), pc.is_in(ordered["item_id"], lacking)))
    if given.num_rows == 0:
        return newest
    by_time = given.take(pc.sort_indices(given, sort_keys=[(name, "ascending") for name, _ in _ORDER[3:]]))
    tags = dict(zip(_items_of(by_time), by_time["tags"].to_pylist(), strict=True))
    cells = zip(_items_of(newest), newest["tags"].to_pylist(), strict=True)
    filled = pa.array([tags.get(item) if own is None else own for item, own in cells], pa.string())
    return newest.set_column(newest.column_names.index("tags"), newest.schema.field("tags"), filled)


def _items_of(rows: pa.Table) -> Iterator[tuple[object, object]]:
    return zip(rows["item_id"].to_pylist(), rows["environment"].to_pylist(), strict=True)


def merged(sources: Sequence[Iterator[pa.Table]]) -> Iterator[pa.Table]:
    """Merge sorted tables of several sources into one sorted sequence, each item's rows reduced to the newest."""
    waiting = [_Source(tables) for tables in sources]
    while waiting := [source for source in waiting if source.fill()]:
        open_ends = [source.last_item for source in waiting if not source.is_over]
        below = min(open_ends) if open_ends else None
        taken = [source.take(below) for source in waiting]
        rows = newest_rows(pa.concat_tables(taken))
        if rows.num_rows:
            yield rows
        elif below is not None:  # one item fills a whole table: more of it must be read
            for source in waiting:
                source.extend(below)


def reduced(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Reduce unsorted tables of any number to the newest rows of each item, sorted; many rows pass through the disk."""
    with tempfile.TemporaryDirectory(prefix="proofsweep-") as folder:
        names = (Path(folder, str(number)) for number in count())
        files: list[list[Path]] = [[]]
        for portion in _portions(tables):
            _add(files, _kept(steps(newest_rows(portion)), next(names)), names)
        yield from merged([_read(path) for alike in files for path in alike])


def _add(files: list[list[Path]], path: Path, names: Iterator[Path], size: int = 0) -> None:
    alike = files[size]
    alike.append(path)
    if len(alike) == _MOST_FILES:
        files[size] = []
        files += [[]] if size + 1 == len(files) else []
        _add(files, _kept(merged([_read(each) for each in alike]), next(names), alike), names, size + 1)


def _portions(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    waiting: list[pa.Table] = []
    rows = 0
    for table in tables:
        for first in range(0, table.num_rows, PORTION_ROWS):
            waiting.append(table.slice(first, PORTION_ROWS))
            rows += waiting[-1].num_rows
            if rows >= PORTION_ROWS:
                yield pa.concat_tables(waiting)
                waiting, rows = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def steps(table: pa.Table) -> Iterator[pa.Table]:
    """Cut a table into portions that are merged at once."""
    return (table.slice(first, STEP_ROWS) for first in range(0, table.num_rows, STEP_ROWS))


def _kept(tables: Iterator[pa.Table], path: Path, sources: Sequence[Path] = ()) -> Path:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    first = next(tables)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, first.schema, options=options) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)
    for source in sources:
        source.unlink()
    return path


def _read(path: Path) -> Iterator[pa.Table]:
    with pa.OSFile(str(path), "rb") as file:
        reader = pa.ipc.open_file(file)
        for number in range(reader.num_record_batches):
            yield pa.Table.from_batches([reader.get_batch(number)])


class _Source:
    # One sorted sequence of tables, of which one is in memory.
    def __init__(self, tables: Iterator[pa.Table]) -> None:
        self._tables = tables
        self._rows: pa.Table | None = None
        self.is_over = False

    @property
    def last_item(self) -> str:
        return self._item(-1)

    def fill(self) -> bool:
        """Read on if nothing is in memory; False at the end."""
        while self._rows is None or self._rows.num_rows == 0:
            self._rows = next(self._tables, None)
            if self._rows is None:
                self.is_over = True
                return False
        return True

    def take(self, below: str | None) -> pa.Table:
        """Return the rows of all items below one, and forget them; all rows if there is no bound."""
        rows = self._rows
        assert rows is not None, "filled before"  # noqa: S101 - says to the type checker what the loop ensures
        count = rows.num_rows if below is None else self._count_below(below)
        self._rows = rows.slice(count)
        return rows.slice(0, count)

    def extend(self, item: str) -> None:
        """Read more if nothing but this item may be in memory."""
        if self._rows is not None and self._rows.num_rows and self.last_item == item:
            more = next(self._tables, None)
            self.is_over = more is None
            self._rows = self._rows if more is None else pa.concat_tables([self._rows, more])

    def _count_below(self, item: str) -> int:
        low, high = 0, self._rows.num_rows if self._rows is not None else 0
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._item(middle) < item else (low, middle)
        return low

    def _item(self, row: int) -> str:
        return str(self._rows["item_id"][row].as_py()) if self._rows is not None else ""
