"""The views that people query, as SQL over the tables of a results store; most are a file of their own in `sql`."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files
from operator import attrgetter
from typing import TYPE_CHECKING, TypeGuard

import duckdb
import pyarrow as pa
from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from proofsweep.domain.reasons import reason_entries, remedy_for
from proofsweep.domain.runs import INGEST, Plan
from proofsweep.domain.tags import spellings_by_key
from proofsweep.store import layout, schemas
from proofsweep.store.listings import GONE, listing_objects, newest_listings
from proofsweep.store.objects import REQUESTS_AT_ONCE, FolderStore, Store
from proofsweep.store.parts import Results
from proofsweep.store.runs import IndexedRuns, RunIndex, RunRecord, missing_legs
from proofsweep.store.schemas import SCHEMAS
from proofsweep.store.snapshot import Entry, Snapshot, files_of
from proofsweep.store.tables import TABLES

if TYPE_CHECKING:
    from proofsweep.store.bucket_store import BucketStore


_TAGS = "/* tag columns */"
_OF_TABLE = "SELECT * FROM store.{0} WHERE list_contains(getvariable('environments'), environment)"
_NO_NAMES = re.compile(r"--.*|/\*.*?\*/|'[^']*'")  # comments and texts

NAMES = (*TABLES, "catalog", "latest_answer", "changes", "rejects", "coverage")
"""The views, each after those that it reads; a table has a view of its name."""


@dataclass(frozen=True, slots=True)
class View:
    name: str
    meaning: str
    query: str

    def statement(self) -> str:
        return f"CREATE OR REPLACE VIEW {self.name} AS\n{self.query}"


def views(tags: Iterable[str] = ()) -> list[View]:
    """Return all views; those of rows have each of these tags as a column.

    A tag whose name is a word of the views' own queries becomes `tag_<name>`, in each of them. Of spellings that differ
    in case alone the first one names the column.
    """
    found = [_view(name) for name in NAMES]
    tagged = _tag_columns(tags, {word for view in found for word in _words_of(view.query)})
    return [replace(view, query=view.query.replace(_TAGS, tagged)) for view in found]


def read_by(names: Iterable[str], known: Sequence[View]) -> list[View]:
    """Return views and those that they read, in their order: to make each of them takes as long as some queries."""
    found, read = [], " ".join(names)
    for view in reversed(known):
        if re.search(rf"\b{view.name}\b", read):
            found.append(view)
            read += "\n" + _NO_NAMES.sub("", view.query)
    return found[::-1]


def _view(name: str) -> View:
    """Read a view; the comment at the top of its file is its meaning. That of a table needs no file."""
    file = files(__package__).joinpath("sql", f"{name}.sql")
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else [_OF_TABLE.format(name)]
    about = [line for line in lines if line.startswith("-- ")]
    meaning = TABLES[name].meaning if name in TABLES else " ".join(line.removeprefix("-- ") for line in about)
    return View(name, meaning, "\n".join(lines[len(about) :]))


def value_of_tag(spellings: Iterable[str]) -> str:
    """Return the expression for the value of a tag of a row, whose name has one of these spellings."""
    values = [f"json_extract_string(tags, {quoted(_pointer_to(spelling))})" for spelling in spellings]
    return f"coalesce({', '.join(values)})" if len(values) > 1 else "".join(values)


def key_of(value: str) -> str:
    """Return the expression for what the spellings of one supplier have in common, as `key_of_value` does."""
    return f"lower(nfc_normalize(trim({value})))"


def _words_of(query: str) -> list[str]:
    """Return the words of a query in lower case; a column of another name makes no name in it ambiguous."""
    return re.findall(r"\w+", _NO_NAMES.sub("", query).lower())


def _tag_columns(tags: Iterable[str], taken: set[str]) -> str:
    columns = []
    for _, spellings in sorted(spellings_by_key(tags).items()):
        name = f"tag_{spellings[0]}" if spellings[0].lower() in taken else spellings[0]
        taken.add(name.lower())
        columns.append(f", {value_of_tag(spellings)} AS {identifier(name)}")
    return "".join(columns)


def _pointer_to(tag: str) -> str:
    return "/" + tag.replace("~", "~0").replace("/", "~1")


def quoted(text: str) -> str:
    """Write text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Write a name so that SQL takes it whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


STORE_SCHEME = "proofsweep"
_BLOCK_BYTES = 1024 * 1024  # that are asked for at least


def read_by_us(store: Store) -> "TypeGuard[BucketStore | FolderStore]":
    """Whether DuckDB reads a store through `StoreFiles`: it takes a backslash in a folder's name for a slash."""
    return not isinstance(store, FolderStore) or "\\" in store.url


class StoreFiles(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The objects of a results store, as `proofsweep://<name>`; nothing can be written."""

    protocol = STORE_SCHEME
    cachable = False

    def __init__(self, store: "BucketStore | FolderStore") -> None:
        super().__init__()
        self._store = store
        self._sizes = lru_cache(maxsize=None)(store.sizes)

    def glob(self, path: str, **_: object) -> list[str]:
        """List the objects of a glob like `verdicts/*/[!.]*.parquet`; a name without one is taken as it is."""
        name = self._strip_protocol(path)
        if "*" not in name:
            return [name]
        top, _, pattern = name.partition("/*/")
        folders = [f"{top}/{each}" for each in self._store.folders(top)]
        with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:  # a year of nights has hundreds of folders
            names = [name for sizes in pool.map(self._sizes, folders) for name in sizes]
        return [name for name in names if fnmatchcase(name.rpartition("/")[2], pattern)]

    def info(self, path: str, **_: object) -> dict[str, object]:
        name = self._strip_protocol(path)
        sizes = self._sizes(name.rpartition("/")[0])
        if name not in sizes:
            raise FileNotFoundError(name)
        return {"name": name, "size": sizes[name], "type": "file"}

    def modified(self, _path: str) -> datetime:
        """Return the same time always: no object ever changes."""
        return datetime(2000, 1, 1, tzinfo=UTC)

    def _open(self, path: str, mode: str = "rb", **_: object) -> "_Object":
        return _Object(self, self._strip_protocol(path), mode=mode, block_size=_BLOCK_BYTES)

    def read_range(self, name: str, start: int, end: int) -> bytes:
        return self._store.read_range(name, start, end)


class _Object(AbstractBufferedFile):  # type: ignore[misc]  # fsspec has no types
    def _fetch_range(self, start: int, end: int) -> bytes:
        content: bytes = self.fs.read_range(self.path, start, end)
        return content


# ruff: noqa: S608 - the SQL is made of our own names and of quoted text


_KINDS = {
    pa.string(): "VARCHAR",
    pa.int64(): "BIGINT",
    pa.int32(): "INTEGER",
    pa.int16(): "SMALLINT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.binary(): "BLOB",
    pa.timestamp("us", tz="UTC"): "TIMESTAMPTZ",
}
# Both are in the name of a part, so a query for one run or one day opens only its files.
_RUN_ID = r"regexp_extract({}, '([^-/\\]+)-[0-9-]+\.parquet$', 1) AS run_id"
RUN_DATE = "regexp_extract(filename, 'run_date=([0-9-]{10})/[^/]+$', 1)::DATE AS run_date"
"""It is read from the end of a name: above the store, any folder may have such a name."""
_NO_ROWS = " WHERE false"
PARTS = "{}/*/[!.]*.parquet"
"""The parts of a table; hidden files are none, which a copying tool or a file manager may leave behind."""
LISTING_FILES = ("_runs/*/shards/[!.]*.parquet", "_runs/*/listed/[!.]*.parquet")
"""The items that runs plan, and all items of a catalog where a run leaves some out."""
GONE_FILES = "_runs/*/gone/[!.]*.parquet"
VERDICTS_FILES = PARTS.format("verdicts")
LISTINGS = ("run_id", "environment", "identity", "catalog")
"""Of each catalog the newest run that listed the whole of it."""
PRUNED = ("run_id", "environment", "identity")
_OF_PLAN = {
    **dict.fromkeys(("run_id", "environment", "catalog", "identity", "catalog_kind", "created_at"), "VARCHAR"),
    **dict.fromkeys(("items", "skipped"), "BIGINT"),
}
_PLAN_COLUMNS = _OF_PLAN | {"deployment": "VARCHAR", "is_partial": "BOOLEAN", "remaining": "BIGINT", "failed": "BIGINT"}
_ITEM = "(item_id, environment)"
NEWEST_KEY = "(item_id, environment, outcome IN ('accepted', 'rejected'))"
"""Of rows with the same key the newest is kept, as in the snapshot."""
ANSWERS_VIEW = """\
CREATE OR REPLACE VIEW store.answers AS
FROM store.newest
WHERE list_contains(getvariable('environments'), environment) AND outcome IN ('accepted', 'rejected')"""
"""The newest answers of the environments that the views show."""
COMPARISONS_VIEW = f"""\
CREATE OR REPLACE VIEW store.comparisons AS
{files(__package__).joinpath("sql", "comparisons.sql").read_text(encoding="utf-8")}"""
"""Which runs the view `changes` compares each run with."""
NEWEST_FIRST = "epoch DESC, finished_at DESC, run_id DESC, leg DESC, manifest_row DESC"


def create_tables(connection: duckdb.DuckDBPyConnection, results: Results) -> list[Plan]:
    """Make or remake the schema `store`, and return the plans, the newest first; queries read what is there then."""
    index = RunIndex(results).refreshed()
    runs = list(index.newest_first())
    connection.execute("CREATE SCHEMA IF NOT EXISTS store")
    for table, schema in SCHEMAS.items():
        has_parts = next(results.all_parts(table), None) is not None
        location = location_of(results, PARTS.format(table))
        query = _reading_parts(table, schema, location) if has_parts else empty_table(table, schema)
        connection.execute(f"CREATE OR REPLACE VIEW store.{table} AS {query}")
    connection.execute(
        f"CREATE OR REPLACE VIEW store.verdicts_files AS {files_in(location_of(results, VERDICTS_FILES))}"
    )
    listings = [(run, names) for run in newest_listings(runs).values() if (names := listing_objects(results, run))]
    listed = [location_of(results, name) for _, names in listings for name in names]
    connection.execute(f"CREATE OR REPLACE VIEW store.listing AS {items_in(listed, schemas.ITEMS)}")
    newest = [{name: getattr(run.plan, name) for name in LISTINGS} for run, _ in listings]
    _create_from(connection, "listings", newest, dict.fromkeys(LISTINGS, "VARCHAR"))
    folders = [layout.gone_folder(run.plan.run_id) for run in runs if run.plan.skipped]
    gone = [location_of(results, name) for folder in folders for name in results.store.names(folder)]
    connection.execute(f"CREATE OR REPLACE VIEW store.gone AS {items_in(gone, GONE)}")
    _create_from(connection, "plans", map(_plan_row, runs), _PLAN_COLUMNS)
    _create_from(connection, "pruned", _pruned(results, index), dict.fromkeys(PRUNED, "VARCHAR"))
    for statement in advice_views():
        connection.execute(statement)
    _create_newest(connection, results, runs)
    connection.execute(ANSWERS_VIEW)
    connection.execute(COMPARISONS_VIEW)
    return [run.plan for run in runs]


def advice_views() -> Iterator[str]:
    """Return the statements that make `store.advice`, by reason, and `store.general_advice`, for any other reason."""
    entries = reason_entries().items()
    advice = ",\n    ".join(f"({quoted(reason)}, {quoted(entry.remedy)})" for reason, entry in entries)
    yield f"CREATE OR REPLACE VIEW store.advice AS\nFROM (VALUES\n    {advice}\n) AS advice (reason, what_to_do)"
    yield f"CREATE OR REPLACE VIEW store.general_advice AS\nSELECT {quoted(remedy_for(''))} AS general_advice"


def files_in(location: str) -> str:
    """Return the query that lists the parts of a glob, each with its run. It reads names alone."""
    return f"SELECT file AS filename, {_RUN_ID.format('file')} FROM glob({quoted(location)})"


def _reading_parts(table: str, schema: pa.Schema, location: str) -> str:
    columns = f"* REPLACE ({_RUN_ID.format('filename')})" if "run_id" in schema.names else "*"
    further = [RUN_DATE, "filename"] if table == "verdicts" else [RUN_DATE]
    return f"SELECT {', '.join([columns, *further])} FROM {reading(schema, [location])}"


def reading(schema: pa.Schema, locations: Sequence[str]) -> str:
    """Return what reads Parquet files, by paths or globs, by a schema: a column that a file lacks is null."""
    columns = (
        f"{quoted(field.name)}: {{name: {quoted(field.name)}, type: {quoted(_KINDS[field.type])}, default_value: NULL}}"
        for field in schema
    )
    listed = ", ".join(map(quoted, locations))
    return f"read_parquet([{listed}], schema = MAP {{{', '.join(columns)}}})"


def empty_table(table: str, schema: pa.Schema) -> str:
    """Return a query without rows that has the columns of a table; `store.verdicts` has the names of its files too."""
    further = ", NULL::DATE AS run_date" + (", NULL::VARCHAR AS filename" if table == "verdicts" else "")
    return f"{_empty(schema).removesuffix(_NO_ROWS)}{further}{_NO_ROWS}"


def _empty(schema: pa.Schema) -> str:
    nulls = (f"NULL::{_KINDS[field.type]} AS {field.name}" for field in schema)
    return f"SELECT {', '.join(nulls)}{_NO_ROWS}"


def location_of(results: Results, name: str) -> str:
    """Return how this process's DuckDB reads an object, or the objects of a glob, of a results store."""
    return f"{STORE_SCHEME}://{name}" if read_by_us(results.store) else glob_of(results, name)


def glob_of(results: Results, name: str) -> str:
    """Return how any DuckDB reads an object or a glob of them; the store's own URL is taken letter by letter."""
    url = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in results.store.url)
    return f"{url}/{name}"


def _create_from(
    connection: duckdb.DuckDBPyConnection, name: str, rows: Iterable[Mapping[str, object]], columns: Mapping[str, str]
) -> None:
    """Make a table of rows of our own. They go in as JSON: an Arrow table of rows needs pandas, and a second."""
    form = json.dumps([dict(columns)])
    query = f"SELECT unnest(from_json($rows, {quoted(form)}), recursive := true)"
    connection.execute(f"CREATE OR REPLACE TABLE store.{name} AS {query}", {"rows": json.dumps(list(rows))})


def items_in(locations: Sequence[str], schema: pa.Schema) -> str:
    """Return the query for the items in some files, each with its run."""
    if not locations:
        return f"SELECT NULL::VARCHAR AS run_id, {_empty(schema).removeprefix('SELECT ')}"
    run_id = "regexp_extract(filename, '_runs/([^/]+)/[^/]+/[^/]+$', 1)"
    return f"SELECT {run_id} AS run_id, {', '.join(schema.names)} FROM {reading(schema, locations)}"


def _pruned(results: Results, index: IndexedRuns) -> Iterator[Mapping[str, object]]:
    known = {run_id: (record.plan.environment, record.plan.identity) for run_id, record in index.records.items()}
    known |= {run_id: (environment, identity) for run_id, (environment, identity) in index.pruned.items()}
    names = [name for name in results.store.folders(layout.PRUNED_FOLDER) if name in known]
    return (dict(zip(PRUNED, (name, *known[name]), strict=True)) for name in names)


def _plan_row(run: RunRecord) -> Mapping[str, object]:
    return {
        **{name: getattr(run.plan, name) for name in _OF_PLAN},
        "deployment": " ".join(_deployment(run)) or None,
        "is_partial": run.plan.catalog_kind == INGEST,
        "remaining": run.remaining,
        "failed": sum(rows for leg in run.legs if isinstance(rows := leg.counts.get("failed"), int)),
    }


def _deployment(run: RunRecord) -> Iterator[str]:
    for column in ("service_version", "service_commit", "service_deployed_at"):
        yield from sorted({str(leg.counts[column]) for leg in run.legs if leg.counts.get(column) is not None})[-1:]


def _create_newest(connection: duckdb.DuckDBPyConnection, results: Results, runs: Sequence[RunRecord]) -> None:
    """Make `store.newest`: the snapshot, with what its later entries and legs that it lacks have newer.

    The largest entry of the snapshot holds nearly all items, each once. So only keys that are elsewhere too are sorted.
    """
    entries = sorted(Snapshot(results.store).entries(), key=attrgetter("rows"))
    missing = [{"run_id": plan.run_id, "leg": leg} for plan, legs in missing_legs(entries, runs) for leg in legs]
    missing += [{"run_id": plan.run_id, "leg": leg} for plan, leg in _legs_under_way(results, runs)]
    _create_from(connection, "unlisted_legs", missing, {"run_id": "VARCHAR", "leg": "INTEGER"})
    names = ", ".join(schemas.SNAPSHOT.names)
    unlisted = f"SELECT {names} FROM store.verdicts SEMI JOIN store.unlisted_legs USING (run_id, leg)"
    connection.execute(f"CREATE OR REPLACE VIEW store.settled AS {_reading_entries(results, entries[-1:])}")
    connection.execute(
        f"CREATE OR REPLACE VIEW store.recent AS {_reading_entries(results, entries[:-1])}"
        + (f" UNION ALL {unlisted}" if missing else "")
    )
    is_settled = len(entries) == 1 and not missing
    connection.execute(
        f"CREATE OR REPLACE VIEW store.newest AS {'FROM store.settled' if is_settled else newest_of_both()}"
    )


def _legs_under_way(results: Results, runs: Iterable[RunRecord]) -> Iterator[tuple[Plan, int]]:
    for run in runs:
        if not run.is_over:
            leg = max((each.leg for each in run.legs), default=0) + 1
            parts = results.store.names(layout.table_folder("verdicts", run.plan.run_date))
            if any((layout.run_of(name), layout.leg_of(name)) == (run.plan.run_id, leg) for name in parts):
                yield run.plan, leg


def newest_of_both() -> str:
    """Return the query for the newest rows of `store.settled`, where each key is once, and `store.recent`."""
    others = f"{_ITEM} IN (SELECT {_ITEM} FROM store.recent)"
    again = newest_per_item(f"FROM store.recent UNION ALL FROM store.settled WHERE {others}")
    return f"FROM store.settled WHERE NOT {others} UNION ALL FROM ({again})"


def newest_per_item(rows: str) -> str:
    """Return the query for the newest of some rows by `NEWEST_KEY`; an item has the newest tags that it was given."""
    return (
        f"SELECT * REPLACE (first_value(tags IGNORE NULLS) OVER of_item AS tags)\nFROM ({rows})\n"
        f"WINDOW of_item AS (PARTITION BY {_ITEM} ORDER BY {NEWEST_FIRST} "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)\n"
        f"QUALIFY row_number() OVER (PARTITION BY {NEWEST_KEY} ORDER BY {NEWEST_FIRST}) = 1"
    )


def _reading_entries(results: Results, entries: Sequence[Entry]) -> str:
    locations = [location_of(results, file.name) for entry in entries for file in files_of(entry)]
    return f"FROM {reading(schemas.SNAPSHOT, locations)}" if locations else _empty(schemas.SNAPSHOT)
