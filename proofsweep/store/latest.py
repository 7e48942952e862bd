# ruff: noqa: S608 - the SQL is made of our own names
"""The newest answer of each item, and its newest row without one: a base, and a tail of legs that are newer.

The newest row of an item is the one that the service answered last (`NEWEST_LAST`). The base is a few sorted Parquet
files that hold these rows of the legs that ended through one entry of the log. The tail are the parts of the legs that
ended later, and the parts and journals of those that have not ended. The base is derived: it may be deleted at any
time, and `refresh` makes the next one of the last one and of the tail, in a process of its own while others read and
write.
"""

import subprocess
import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import chain, pairwise
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Plan
from proofsweep.store import layout
from proofsweep.store.erasures import Erasures
from proofsweep.store.journal import read_journal
from proofsweep.store.objects import (
    REQUESTS_AT_ONCE,
    FolderStore,
    Store,
    delete_all,
    json_bytes,
    open_store,
    read_required,
)
from proofsweep.store.parts import LATEST, SCHEMAS, Results, parquet_of, read_table
from proofsweep.store.sql import quoted
from proofsweep.store.tables import ANSWERED, NEWEST_FIRST, NEWEST_LAST

if TYPE_CHECKING:
    import duckdb

_LEAST_ROWS = 5_000  # a tail of so few is read as quickly as a base
_TAIL_SHARE = 10  # of the base's rows, those that the tail may have before both become the next base: one of so many
_MOST_LEGS = 100  # in the tail: a reader opens some objects of each
_FILE_ROWS = 50_000  # some 8 MB: 200 objects for ten million items
_STEP_ROWS = 5_000  # that are read of a file at once
_MEMORY = "1GB"  # of the process that makes a base
_RANGE_ROWS = 250_000  # whole rows that it compares at once: some 300 MB
_SAMPLE = 5_000  # items, by which it finds ranges of so many rows
_PARTS_AT_ONCE = 4
_MAKING: "dict[str, subprocess.Popen[bytes]]" = {}  # the process that makes the base of a store, by its URL
_LAYOUT = 3  # of a base: one of another layout is made anew

_KEY = f"(item_id, environment, outcome IN {ANSWERED})"
OFFLINE: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFile:
    name: str
    rows: int
    first: str  # its first and last item
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    through: int = 0  # the last entry of the log whose leg it holds
    left_out: Sequence[int] = ()  # entries up to that one of whose legs something is missing: it holds none of them
    files: Sequence[BaseFile] = ()
    layout: int = 1

    def holds(self, entry: int) -> bool:
        """Whether it holds the leg that an entry of the log has ended."""
        return entry <= self.through and entry not in self.left_out


_BASE = TypeAdapter(Base)


@dataclass(frozen=True, slots=True, kw_only=True)
class TailLeg:
    plan: Plan
    leg: int
    entry: int | None  # that ended it; None while it is open
    rows: int | None  # None for one that may be at work


class Latest:
    """The newest rows as they were when this was made, or later: a base that others delete is read anew."""

    def __init__(self, results: Results) -> None:
        """Read it; ResultsError if the base cannot be read."""
        self._results = results
        self._read()

    def _read(self) -> None:
        results = self._results
        self._erasures: dict[str, Erasures] = {}
        # The base before the runs: a leg that ends meanwhile is read twice rather than not at all.
        self.base = _newest_base(results.store)
        self.runs = results.log.runs()

    @property
    def entered(self) -> list[TailLeg]:
        """The legs that have ended, and that the base lacks."""
        entered: list[TailLeg] = []
        for run in self.runs.records.values():
            for leg in run.legs:
                if leg.entry is None or self.base.holds(leg.entry):
                    continue
                entered.append(TailLeg(plan=run.plan, leg=leg.leg, entry=leg.entry, rows=leg.rows))
        return entered

    @property
    def tail(self) -> list[TailLeg]:
        """All legs that the base lacks."""
        tail = self.entered
        for run in self.runs.records.values():
            tail += [TailLeg(plan=run.plan, leg=leg.leg, entry=None, rows=None) for leg in run.open]
        return tail

    def rows(self, environment: str, columns: Sequence[str], items: Sequence[str] = ()) -> Iterator[pa.Table]:
        """Yield an environment's rows in small tables: the base's, then the tail's, the newest of each item among them.

        `items`, in their order, spare to read files of the base that have none of them. An answer that is older than
        the erasure of its proof answers nothing any more, and is left out.
        """
        erasures = self._erasures_in(environment)
        read = list(dict.fromkeys((*columns, *erasures.columns)))
        for table in self._tables(environment, read, items):
            own = table.filter(pc.field("environment") == environment)
            yield erasures.without(own).select(list(columns))

    def _tables(self, environment: str, columns: Sequence[str], items: Sequence[str]) -> Iterator[pa.Table]:
        tail = yield from self._tables_of_base(columns, items)
        for leg in tail:
            if leg.plan.environment == environment:
                yield from self._rows_of(leg, columns)

    def answers(self, environment: str, item_ids: Iterable[str], columns: Sequence[str]) -> dict[str, Row]:
        """Return the newest answer, `accepted` or `rejected`, of each of these items that has one; by item."""
        items = sorted({*item_ids})
        if not items:
            return {}
        read = list(dict.fromkeys(("item_id", "outcome", *NEWEST_LAST, *columns)))
        wanted = pa.array(items, pa.string())
        is_wanted = pc.field("item_id").isin(wanted) & pc.field("outcome").isin(ANSWERED)
        tables = [table.filter(is_wanted) for table in self.rows(environment, read, items)]
        if not tables:
            return {}
        rows = pa.concat_tables(tables, promote_options="default")
        newest_last = rows.sort_by([(name, "ascending") for name in NEWEST_LAST])
        answers: dict[str, Row] = {}
        for row in newest_last.to_pylist():
            item_id = str(row["item_id"])
            answers[item_id] = {name: row[name] for name in columns}
        return answers

    def whole_answers(self, environment: str, item_ids: Iterable[str]) -> dict[str, Row]:
        """Return the whole `verdicts` row of each newest answer, by item, unless it is in no part, or that is gone."""
        numbers: defaultdict[str, list[object]] = defaultdict(list)  # of manifest rows, by part
        for answer in self.answers(environment, item_ids, ["part", "manifest_row"]).values():
            if answer["part"] is not None:
                numbers[str(answer["part"])].append(answer["manifest_row"])
        rows: dict[str, Row] = {}
        for part, manifest_rows in numbers.items():
            # Read outside of `suppress`: a store that fails is no part that is gone.
            content = self._results.store.read(part)
            with suppress(ResultsError):
                table = read_table(self._results.store, part, SCHEMAS["verdicts"], content or b"")
                chosen = table.filter(pc.field("manifest_row").isin(manifest_rows))
                rows |= {str(row["item_id"]): row for row in chosen.to_pylist()}
        return rows

    def _erasures_in(self, environment: str) -> Erasures:
        if environment not in self._erasures:
            self._erasures[environment] = Erasures(self._results, environment)
        return self._erasures[environment]

    def base_parts(self) -> Iterator[str]:
        """Name the parts that hold a row of the base, some more than once."""
        for table in self._tables_of_base(["part"]):
            yield from map(str, table["part"].unique().to_pylist())

    def _tables_of_base(
        self, columns: Sequence[str], items: Sequence[str] = ()
    ) -> Generator[pa.Table, None, list[TailLeg]]:
        """Yield the base's rows, and return the legs that it lacks. Rows of a base that was deleted may come before."""
        while True:
            base, tail = self.base, self.tail
            for file in base.files:
                if items and not _may_hold(file, items):
                    continue
                content = self._results.store.read(file.name)
                if content is None:
                    self._read_after(base, file)
                    break
                yield from self._steps_of(file, content, columns)
            else:
                return tail

    def _read_after(self, base: Base, missing: BaseFile) -> None:
        """Read the newest base, since one lacks a file; ResultsError if it is the newest still."""
        # Whoever has made two bases since has deleted this one: a night, and a plan of a long list, live longer.
        if self.base is base:
            self._read()
        if self.base == base:
            raise _unusable(self._results.store, missing.name, is_there=False)

    def _steps_of(self, file: BaseFile, content: bytes, columns: Sequence[str]) -> Iterator[pa.Table]:
        wanted = dict.fromkeys(["environment", *columns])
        try:
            parquet = pq.ParquetFile(pa.BufferReader(content))
            for batch in parquet.iter_batches(_STEP_ROWS, columns=list(wanted), use_threads=False):
                yield pa.Table.from_batches([batch])
        except (pa.ArrowException, OSError) as damage:
            raise _unusable(self._results.store, file.name) from damage

    def _rows_of(self, leg: TailLeg, columns: Sequence[str]) -> Iterator[pa.Table]:
        wanted = dict.fromkeys(["environment", *columns, "finished_at"])
        wanted.pop("part", None)  # no column of `verdicts`: `_marked` adds it
        own = list(wanted)
        # The journal first: its rows are in a part before they are gone from it.
        if leg.rows is None:
            journal = layout.journal_folder(leg.plan.run_id, leg.leg)
            for _, table in read_journal(self._results.store, journal, "verdicts"):
                yield _marked(table.select(own), None)
        names = self._results.parts_of("verdicts", leg.plan, leg.leg)
        tables = some_at_once(names, lambda name: self._results.table("verdicts", [name], own), _PARTS_AT_ONCE)
        for name, table in zip(names, tables, strict=True):
            yield _marked(table, name)


def refresh(results: Results) -> None:
    """Make the next base from the last one and the legs that have ended since; do nothing if there are none.

    Several processes may do so at once. After a failure, the last base stays, and readers read a longer tail.
    """
    latest = Latest(results)
    whole, left_out = _by_wholeness(results, latest.entered)
    # Of a run whose plan is missing, nobody knows which rows are its own.
    if not whole or latest.runs.damaged:
        return
    through = latest.runs.through
    name = f"{layout.LATEST_FOLDER}/{through:09}-{token_hex(4)}"
    files = _write_files(results, whole, latest.base, name)
    entries = [leg.entry for leg in left_out if leg.entry is not None]
    base = Base(through=through, left_out=entries, files=files, layout=_LAYOUT)
    # The document comes last: it makes the base exist, and names only files that are there.
    document = json_bytes(asdict(base))
    results.store.create(f"{name}.json", document)
    _delete_old_bases(results.store)


def _by_wholeness(results: Results, entered: Iterable[TailLeg]) -> tuple[list[TailLeg], list[TailLeg]]:
    """Return the legs of which all is there, and those of which something is missing."""
    incomplete: dict[str, set[int]] = {}
    whole: list[TailLeg] = []
    left_out: list[TailLeg] = []
    for leg in entered:
        run_id = leg.plan.run_id
        if run_id not in incomplete:
            incomplete[run_id] = results.incomplete_legs(leg.plan)
        legs = left_out if leg.leg in incomplete[run_id] else whole
        legs.append(leg)
    return whole, left_out


def _write_files(results: Results, legs: Sequence[TailLeg], before: Base, name: str) -> list[BaseFile]:
    import duckdb  # noqa: PLC0415 - a leg imports this module, and does without

    store = results.store
    files: list[BaseFile] = []
    try:
        for table in newest_rows(results, legs, before):
            file_name = f"{name}-{len(files):05}.parquet"
            items = table["item_id"]
            first, last = items[0].as_py(), items[-1].as_py()
            files.append(BaseFile(name=file_name, rows=len(table), first=first, last=last))
            store.create(file_name, parquet_of(table))
    except BaseException as error:
        # No document names these files, so nobody else would ever delete them.
        delete_all(store, (file.name for file in files))
        if isinstance(error, (duckdb.Error, OSError)):
            what = f"The newest rows of {store.url} cannot be worked out ({type(error).__name__})"
            raise ResultsError(f"{what}: see proofsweep audit, and the room in TMPDIR.") from error
        raise
    return files


def _delete_old_bases(store: Store) -> None:
    older = _whole_bases(store)[:-1]
    if not older:
        return
    # Readers may still read the base before the newest. Of one that is older still, the document goes first (it sorts
    # last), so that no reader finds a base without its files.
    kept = older[-1].removesuffix(".json")
    for name in reversed(store.names(layout.LATEST_FOLDER)):
        if name < kept:
            store.delete(name)


def refresh_if_due(results: Results) -> None:
    """If the tail is long, start a process that makes the next base; nobody waits for it."""
    url = results.store.url
    process = _MAKING.get(url)
    if process is not None and process.poll() is None:
        return
    latest = Latest(results)
    legs = latest.entered
    rows = sum(leg.rows or 0 for leg in legs)
    base_rows = sum(file.rows for file in latest.base.files)
    if rows > max(_LEAST_ROWS, base_rows // _TAIL_SHARE) or len(legs) > _MOST_LEGS:
        command = [sys.executable, "-P", "-m", "proofsweep.store.latest", url]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)  # noqa: S603 - this module
        _MAKING[url] = process


def newest_rows(results: Results, legs: Sequence[TailLeg], base: Base) -> Iterator[pa.Table]:
    """Yield the newest rows of some legs and of a base, sorted by item, in tables as large as a base's files."""
    import duckdb  # noqa: PLC0415 - a leg imports this module, and does without

    with TemporaryDirectory(prefix="proofsweep-") as folder, duckdb.connect(config=OFFLINE) as connection:
        spilled = quoted(f"{folder}/spilled")
        connection.execute(f"SET memory_limit = '{_MEMORY}'; SET temp_directory = {spilled}")
        connection.execute("SET TimeZone = 'UTC'; SET preserve_insertion_order = false")
        _create_views(connection, results, legs, base, Path(folder))
        for items in _ranges(connection):
            newest = newest_per_item(f"FROM known WHERE {items}")
            ordered = f"{newest}\nORDER BY item_id, environment, answered_at, outcome"
            for batch in connection.sql(ordered).to_arrow_reader(_FILE_ROWS):
                table = pa.Table.from_batches([batch])
                yield table.select(LATEST.names).cast(LATEST)


def _create_views(
    connection: "duckdb.DuckDBPyConnection", results: Results, legs: Sequence[TailLeg], base: Base, folder: Path
) -> None:
    """Let a query read the rows of some legs and of a base as `known`."""
    values: list[str] = []
    for leg in legs:
        run_id = quoted(leg.plan.run_id)
        values.append(f"({run_id}, {leg.leg})")
    connection.execute(f"CREATE TABLE legs AS FROM (VALUES {', '.join(values)}) AS legs (run_id, leg)")
    listed = some_at_once(legs, lambda leg: results.parts_of("verdicts", leg.plan, leg.leg), REQUESTS_AT_ONCE)
    parts = list(chain.from_iterable(listed))
    base_files = [file.name for file in base.files]
    for view, schema, names in (("parts", SCHEMAS["verdicts"], parts), ("base", LATEST, base_files)):
        paths = _files_of(results.store, schema, names, folder / view)
        files = ", ".join(map(quoted, paths))
        connection.execute(f"CREATE VIEW {view} AS FROM read_parquet([{files}], filename = 'path')")
    connection.execute(f"CREATE VIEW known AS {_KNOWN}")


def _ranges(connection: "duckdb.DuckDBPyConnection") -> Iterator[str]:
    """Yield conditions that divide the items into ranges, in order, with so few rows each that memory holds them."""
    ((rows,),) = connection.execute("SELECT count(*) FROM known").fetchall()
    ranges = rows // _RANGE_ROWS + 1
    sample = connection.execute(f"SELECT item_id FROM known USING SAMPLE reservoir({_SAMPLE} ROWS) REPEATABLE (1)")
    items = sorted(item for (item,) in sample.fetchall())
    bounds = {""}
    for number in range(1, ranges):
        index = len(items) * number // ranges
        bounds.add(items[index])
    texts = list(map(quoted, sorted(bounds)))
    for low, high in pairwise(texts):
        yield f"item_id >= {low} AND item_id < {high}"
    yield f"item_id >= {texts[-1]}"


def newest_per_item(rows: str) -> str:
    """Return the query for the newest of some rows: an item's answer, and its row without one.

    They have the newest tags, the first run, and the time since which the answers are the same.
    """
    return _NEWEST.format(rows=rows)


# A base remembers of all older rows only what these rows hold. So first runs and times since when are taken from
# those of the rows, unless an answer of another outcome, of a leg that ended late, lies between.
_NEWEST = f"""
SELECT * EXCLUDE (other_at) REPLACE (
    first_value(tags IGNORE NULLS) OVER of_item AS tags, min(first_run_id) OVER of_item AS first_run_id,
    min(CASE WHEN answered_at > other_at THEN
        CASE WHEN outcome_since > other_at THEN outcome_since ELSE answered_at END
    END) OVER of_item AS outcome_since
)
FROM (
    SELECT *, CASE outcome
        WHEN 'accepted' THEN coalesce(max(answered_at) FILTER (outcome = 'rejected') OVER known, '-infinity')
        WHEN 'rejected' THEN coalesce(max(answered_at) FILTER (outcome = 'accepted') OVER known, '-infinity')
    END AS other_at
    FROM ({{rows}})
    WINDOW known AS (PARTITION BY (item_id, environment))
)
WINDOW of_item AS (
    PARTITION BY (item_id, environment) ORDER BY {NEWEST_FIRST}
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
)
QUALIFY row_number() OVER (PARTITION BY {_KEY} ORDER BY {NEWEST_FIRST}) = 1
"""
_WHEN = "coalesce(answered_at, finished_at)"  # a row was answered: rows of the first versions have no `answered_at`
_OF_ROW = {
    "answered_at": f"{_WHEN} AS answered_at",
    "first_run_id": "run_id AS first_run_id",
    "outcome_since": f"{_WHEN} AS outcome_since",
}


def columns_of_row(names: Iterable[str]) -> str:
    """Return the SQL of columns of the newest answers, as a row of `verdicts` gives them."""
    return ", ".join(_OF_ROW.get(name, name) for name in names)


_OF_PARTS = columns_of_row(name for name in LATEST.names if name != "part")
_KNOWN = f"""
SELECT {_OF_PARTS}, regexp_extract(path, 'verdicts/run_date=[^/]+/[^/]+$') AS part
FROM parts SEMI JOIN legs USING (run_id, leg)
UNION ALL BY NAME
SELECT {", ".join(LATEST.names)} FROM base"""
"""The rows of the tail, and those of the base."""


def _files_of(store: Store, schema: pa.Schema, names: Sequence[str], folder: Path) -> list[str]:
    """Give some objects as files that DuckDB can open, before an empty one; those of a bucket are copied."""
    folder.mkdir()
    paths: list[str] = []
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(store, FolderStore):  # its path may be a pattern to DuckDB
            path.symlink_to(f"{store.url}/{name}")
        else:
            path.write_bytes(read_required(store, name))
        paths.append(str(path))
    # The empty file gives a view without objects its columns. It comes last: DuckDB counts the rows of all files by
    # those of the first, and keeps in memory the side of a join that it takes for small.
    empty = folder / "none.parquet"
    empty.write_bytes(parquet_of(pa.Table.from_batches([], schema=schema)))
    return [*paths, str(empty)]


def _newest_base(store: Store) -> Base:
    for name in reversed(_whole_bases(store)):
        content = store.read(name)
        if content is None:  # it was deleted since
            continue
        try:
            base = _BASE.validate_json(content)
        except ValueError as damage:
            raise _unusable(store, name) from damage
        if base.layout == _LAYOUT:
            return base
    return Base()


def _whole_bases(store: Store) -> list[str]:
    return [name for name in store.names(layout.LATEST_FOLDER) if name.endswith(".json")]


def _unusable(store: Store, name: str, *, is_there: bool = True) -> ResultsError:
    what = "damaged" if is_there else "missing"
    derived = f"It is derived: delete {layout.LATEST_FOLDER}, and it is made anew."
    return ResultsError(f"{name} in the results store {store.url} is {what}. {derived}")


def _may_hold(file: BaseFile, items: Sequence[str]) -> bool:
    index = bisect_left(items, file.first)
    return index < len(items) and items[index] <= file.last


def _marked(table: pa.Table, part: str | None) -> pa.Table:
    """Add the name of the part that has some rows, and when they were answered where an old part does not say it."""
    if "answered_at" in table.column_names:
        index = table.column_names.index("answered_at")
        answered_at = pc.coalesce(table["answered_at"], table["finished_at"])
        table = table.set_column(index, "answered_at", answered_at)
    names = pa.repeat(pa.scalar(part, pa.string()), table.num_rows)
    return table.append_column("part", names)


if __name__ == "__main__":
    refresh(Results(open_store(sys.argv[1], must_exist=True)))
