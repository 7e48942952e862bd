"""Reduce rows to the newest ones of each item, however many there are: sort in portions, then merge.

Every table here is sorted by item, environment, and whether the service answered; of each such key only the newest row
is kept. The rows that several tables hold of one item come together when they are merged.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.store.tables.snapshot import ANSWERED

# Rows that are sorted in memory at once: 6 MB, and as much again for each of three copies.
PORTION_ROWS = 8_000
# Rows that are read of a source at once.
STEP_ROWS = 1_000
# Files on disk that are merged at once.
_MOST_FILES = 16

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
