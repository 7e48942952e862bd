# ruff: noqa: S608 - the SQL is made of our own names and of quoted text
"""The schema `store` below the views: the tables of a results store, which mix environments; the views choose."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import files
from itertools import chain

import duckdb
import pyarrow as pa

from proofsweep.config.notices import say
from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.reasons import about, reason_entries
from proofsweep.domain.runs import OperationKind, Plan
from proofsweep.store import layout
from proofsweep.store.journal import KEYS_OF_ROWS, unpublished_of_all
from proofsweep.store.latest import Latest, columns_of_row, newest_per_item
from proofsweep.store.listings import GONE, listing_objects, newest_listings
from proofsweep.store.objects import REQUESTS_AT_ONCE, FolderStore, Store, read_required
from proofsweep.store.parts import ITEMS, LATEST, SCHEMAS, Results, table_of
from proofsweep.store.runs import RunRecord, Runs
from proofsweep.store.sql import quoted

STORE_SCHEME = "proofsweep"
"""Objects of the store are `proofsweep://<name>` for DuckDB where this process reads them for it."""
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
# Run and day are in the name of a part, so a query for one of them opens only its files. Both are read from its end:
# above the store, any folder may have such a name.
_RUN_ID = r"regexp_extract({}, '([^-/\\]+)-[0-9-]+\.parquet$', 1) AS run_id"
_RUN_DATE = "regexp_extract(filename, 'run_date=([0-9-]{10})/[^/]+$', 1)::DATE AS run_date"
_PARTS = "{}/*/[!.]*.parquet"  # without hidden files, which a copying tool or a file manager may leave behind
_LISTINGS = ("run_id", "environment", "identity", "catalog")  # of each catalog the newest run that listed all of it
_CHECKED_ROWS = 200_000  # that are read wholly to find damage; it takes 0.1 s
_NAMED = re.compile(r"\bstore\.(\w+)")
_WILDCARDS = re.compile(r"[*?\[]")
_PRUNED = ("run_id", "environment", "identity")
_OF_PLAN = {
    **dict.fromkeys(("run_id", "environment", "catalog", "identity", "catalog_kind", "created_at"), "VARCHAR"),
    **dict.fromkeys(("items", "skipped"), "BIGINT"),
}
_PLAN_COLUMNS = _OF_PLAN | {
    "is_partial": "BOOLEAN",
    "has_chosen_rows": "BOOLEAN",
    "is_retired": "BOOLEAN",
    "remaining": "BIGINT",
    "failed": "BIGINT",
}
_ITEM = "(item_id, environment)"
_NEWEST = pa.schema([field for field in LATEST if field.name != "part"])
_LEG = {"run_id": "VARCHAR", "leg": "INTEGER"}
_OF_ROW = columns_of_row(_NEWEST.names)
_COMMON_VIEWS = {
    "answers": "FROM store.newest\n"
    "WHERE list_contains(getvariable('environments'), environment) AND outcome IN ('accepted', 'rejected')",
    "comparisons": files(__package__).joinpath("sql", "comparisons.sql").read_text(encoding="utf-8"),
}
"""The newest answers of the environments that the views show; and which runs the view `changes` compares each with."""


def create_tables(connection: duckdb.DuckDBPyConnection, results: Results, asked: str | None = None) -> list[Plan]:
    """Make or remake the schema `store`, and return the plans, the newest first; queries read what is there then.

    Of what takes a listing of each day or run only that which is `asked` in SQL, None for all.
    """
    latest = Latest(results)
    runs = list(latest.runs.newest_first())
    counted = latest.runs.counted_first()
    connection.execute("CREATE SCHEMA IF NOT EXISTS store")
    # In a bucket each listing is a request, and a year has hundreds of days and runs.
    named = frozenset(_NAMED.findall(asked or ""))

    def is_asked(table: str) -> bool:
        return asked is None or table in named

    _create_tables_of_rows(connection, results, list(filter(is_asked, SCHEMAS)))
    if is_asked("verdicts_files"):
        _create_verdicts_files(connection, results)
    # Retired catalogs are listed apart: their files count no more, but `status` names what they alone list.
    living: set[tuple[str, str]] = set()
    counted_ids: set[str] = set()
    for run in counted:
        living.add(_catalog_of(run))
        counted_ids.add(run.plan.run_id)
    without_a_run = [run for run in runs if _catalog_of(run) not in living]
    _create_listings(connection, results, counted, "listing")
    _create_listings(connection, results, without_a_run, "retired_listing")
    if is_asked("gone"):
        _create_gone(connection, results, runs)
    plans: list[Plan] = []
    rows: list[dict[str, object]] = []
    for run in runs:
        row = _plan_row(run)
        row["is_retired"] = run.plan.run_id not in counted_ids
        rows.append(row)
        plans.append(run.plan)
    _create_from(connection, "plans", rows, _PLAN_COLUMNS)
    _create_from(connection, "pruned", _pruned(latest.runs), _texts(_PRUNED))
    _create_from(connection, "last_inventories", _last_inventories(latest.runs), _texts(["operation_id"]))
    _create_newest(connection, results, latest)
    for name, query in {**_advice(), **_COMMON_VIEWS}.items():
        _create_view(connection, name, query)
    return plans


def _catalog_of(run: RunRecord) -> tuple[str, str]:
    return run.plan.environment, run.plan.identity


def _create_verdicts_files(connection: duckdb.DuckDBPyConnection, results: Results) -> None:
    """Make a view of the names of the files of `store.verdicts`, each with its run: no file is opened for it."""
    every = quoted(_location_of(results, _PARTS.format("verdicts")))
    run_id = _RUN_ID.format("file")
    files = f"SELECT file AS filename, {run_id} FROM glob({every})"
    of_journals = "SELECT DISTINCT filename, run_id FROM store.journalled_verdicts"
    _create_view(connection, "verdicts_files", f"{files} UNION ALL {of_journals}")


def _create_tables_of_rows(connection: duckdb.DuckDBPyConnection, results: Results, tables: Sequence[str]) -> None:
    # Journals are read before parts are listed: rows move there meanwhile, and would be in neither.
    journalled: list[str] = []
    for table in KEYS_OF_ROWS:
        waiting: Sequence[pa.Table] = []
        if table == "verdicts" or table in tables:  # the newest row of a file may be in a journal
            waiting = unpublished_of_all(results, table)
        if _create_journalled(connection, table, waiting):
            journalled.append(table)
    has_parts = some_at_once(tables, partial(_has_parts, results), REQUESTS_AT_ONCE)
    for table, is_filled in zip(tables, has_parts, strict=True):
        query = _empty_table(table)
        if is_filled:
            parts = _location_of(results, _PARTS.format(table))
            query = _reading_parts(table, [parts])
        if table in journalled:
            query = _with_journalled(table, query)
        _create_view(connection, table, query)


def _create_gone(connection: duckdb.DuckDBPyConnection, results: Results, runs: Sequence[RunRecord]) -> None:
    folders: list[str] = []
    for run in runs:
        if run.plan.skipped:
            folder = layout.items_folder(run.plan.run_id, "gone")
            folders.append(folder)
    listed = some_at_once(folders, results.store.names, REQUESTS_AT_ONCE)
    names = list(chain.from_iterable(listed))
    damaged = _unreadable(connection, results, names)
    for name in damaged:
        _say_unreadable(results, name, "what it says is gone")
    whole = _locations_of(results, [name for name in names if name not in damaged])
    _create_view(connection, "gone", _items_in(whole, GONE))


def _create_journalled(connection: duckdb.DuckDBPyConnection, table: str, waiting: Sequence[pa.Table]) -> bool:
    """Make a table of the rows that only journals have, and return whether there are any."""
    name, query = f"journalled_{table}", _empty_table(table)
    if waiting:
        connection.register("waiting", pa.concat_tables(waiting))
        further = "strptime(left(run_id, 8), '%Y%m%d')::DATE AS run_date"
        if table == "verdicts":
            further += ", 'journal of ' || run_id AS filename"
        query = f"SELECT *, {further} FROM waiting"
    connection.execute(f"CREATE OR REPLACE TABLE store.{name} AS {query}")
    if waiting:
        connection.unregister("waiting")
    return bool(waiting)


def _with_journalled(table: str, parts: str) -> str:
    """Return the query for the rows of parts and of journals; a row that has come into a part meanwhile counts once."""
    journalled = f"store.journalled_{table}"
    key = ", ".join(KEYS_OF_ROWS[table]).replace("manifest_row", "coalesce(manifest_row, -1)")
    published = f"SELECT {key} FROM ({parts}) WHERE run_id IN (SELECT run_id FROM {journalled})"
    waiting = f"FROM {journalled} WHERE ({key}) NOT IN ({published})"
    return f"{parts} UNION ALL BY NAME {waiting}"


def _has_parts(results: Results, table: str) -> bool:
    return next(results.all_parts(table), None) is not None


def _create_listings(
    connection: duckdb.DuckDBPyConnection, results: Results, runs: Sequence[RunRecord], name: str
) -> None:
    """Make a view of the items of the newest whole listing of each catalog, and a table of their runs: `<name>s`."""
    newest = list(newest_listings(runs).values())
    listings = list(some_at_once(newest, partial(listing_objects, results), REQUESTS_AT_ONCE))
    every_object = list(chain.from_iterable(listings))
    damaged = _unreadable(connection, results, every_object)
    whole: list[str] = []
    rows: list[dict[str, object]] = []
    for run, objects in zip(newest, listings, strict=True):
        # A part of a listing would call the rest of its files gone, so a damaged one counts as none.
        unreadable = [part for part in objects if part in damaged]
        if unreadable:
            _say_unreadable(results, unreadable[0], f"what {run.plan.catalog} lists")
        elif objects:
            whole += objects
            rows.append(_columns_of(run.plan, _LISTINGS))
    _create_view(connection, name, _items_in(_locations_of(results, whole), ITEMS))
    _create_from(connection, f"{name}s", rows, _texts(_LISTINGS))


def _unreadable(connection: duckdb.DuckDBPyConnection, results: Results, names: Sequence[str]) -> list[str]:
    """Return those of some objects that cannot be read.

    DuckDB reads the ends of all, which it keeps for the query, and few rows wholly. Only if it fails each is looked at.
    """
    if not names:
        return []
    locations = ", ".join(map(quoted, _locations_of(results, names)))
    files = f"read_parquet([{locations}], union_by_name = true)"
    found: list[str] = []
    try:
        [(rows,)] = connection.execute(f"SELECT count(*) FROM {files}").fetchall()
        if rows <= _CHECKED_ROWS:
            connection.execute(f"SELECT bit_xor(hash(COLUMNS(*))) FROM {files}").fetchall()
    except duckdb.Error:
        for name in names:
            try:
                table_of(read_required(results.store, name))
            except (ResultsError, pa.ArrowException, OSError) as error:
                # A store that is away damages nothing: its files must not count as gone.
                if isinstance(error, ResultsError) and error.is_outage:
                    raise
                found.append(name)
    return found


def _say_unreadable(results: Results, name: str, otherwise: str) -> None:
    """Name an object in one line: what is damaged of one catalog hinders no answer about others."""
    where = f"{name} in the results store {results.store.url}"
    say(f"{where} cannot be read: {otherwise} is not known; see: proofsweep audit")


def read_by_us(store: Store) -> bool:
    """Whether DuckDB reads a store through this process: it takes a backslash in a folder's name for a slash."""
    return not isinstance(store, FolderStore) or "\\" in store.url


def _create_view(connection: duckdb.DuckDBPyConnection, name: str, query: str) -> None:
    connection.execute(f"CREATE OR REPLACE VIEW store.{name} AS\n{query}")


def _create_from(
    connection: duckdb.DuckDBPyConnection, name: str, rows: Iterable[Mapping[str, object]], columns: Mapping[str, str]
) -> None:
    """Make a table of rows of our own. They go in as JSON: an Arrow table of rows needs pandas, and a second."""
    form = json.dumps([dict(columns)])
    query = f"SELECT unnest(from_json($rows, {quoted(form)}), recursive := true)"
    texts = json.dumps(list(rows))
    connection.execute(f"CREATE OR REPLACE TABLE store.{name} AS {query}", {"rows": texts})


def _texts(names: Iterable[str]) -> dict[str, str]:
    return dict.fromkeys(names, "VARCHAR")


def _columns_of(plan: Plan, names: Iterable[str]) -> dict[str, object]:
    return {name: getattr(plan, name) for name in names}


def _pruned(runs: Runs) -> Iterator[Mapping[str, object]]:
    for run_id in sorted(runs.prunings):
        run = runs.run(run_id)
        if run is not None:
            yield _columns_of(run.plan, _PRUNED)


def _last_inventories(runs: Runs) -> Iterable[Mapping[str, object]]:
    """Return of each environment the last inventory that came to its end."""
    last: dict[str, Mapping[str, object]] = {}
    for operation_id, record in sorted(runs.operations.items()):
        is_inventory = record.plan.kind == OperationKind.INVENTORY
        if is_inventory and record.is_complete:
            last[record.plan.environment] = {"operation_id": operation_id}
    return last.values()


def _plan_row(run: RunRecord) -> dict[str, object]:
    plan = run.plan
    row = _columns_of(plan, _OF_PLAN)
    row["is_partial"] = plan.lists_a_part
    row["has_chosen_rows"] = plan.has_chosen_rows
    row["remaining"] = run.remaining
    row["failed"] = sum(leg.count("failed") for leg in run.legs)
    return row


def _create_newest(connection: duckdb.DuckDBPyConnection, results: Results, latest: Latest) -> None:
    """Make `store.newest`: the base, with what the tail has newer.

    The base holds nearly all items, each once. So only keys that are in the tail too are sorted.
    """
    # The legs since the base was made. Their parts are named by their days: a glob over all days would be a listing
    # for each day of the store.
    tail: list[dict[str, object]] = []
    plans: list[Plan] = []
    for leg in latest.tail:
        plans.append(leg.plan)
        tail.append({"run_id": leg.plan.run_id, "leg": leg.leg})
    _create_from(connection, "tail", tail, _LEG)
    rows = _empty_table("verdicts")
    parts = _parts_of_runs(results, plans)
    if parts:
        rows = _reading_parts("verdicts", _locations_of(results, parts))
    every = f"{rows} UNION ALL BY NAME FROM store.journalled_verdicts"
    _create_view(connection, "recent", f"SELECT {_OF_ROW} FROM ({every}) SEMI JOIN store.tail USING (run_id, leg)")
    if not latest.base.files:
        _create_view(connection, "newest", newest_per_item("FROM store.recent"))
        return
    base = [file.name for file in latest.base.files]
    settled = _reading(_NEWEST, _locations_of(results, base))
    _create_view(connection, "settled", f"FROM {settled}")
    newest = "FROM store.settled"
    if tail:
        again = f"{_ITEM} IN (SELECT {_ITEM} FROM store.recent)"
        newest_again = newest_per_item(f"FROM store.recent UNION ALL FROM store.settled WHERE {again}")
        newest = f"FROM store.settled WHERE NOT {again} UNION ALL FROM ({newest_again})"
    _create_view(connection, "newest", newest)


def _parts_of_runs(results: Results, plans: Sequence[Plan]) -> list[str]:
    """Name the parts of some runs from listings of their days alone."""
    runs: set[str] = set()
    folders: set[str] = set()
    for plan in plans:
        runs.add(plan.run_id)
        folders.add(layout.table_folder("verdicts", plan.run_date))
    listed = some_at_once(sorted(folders), results.store.names, REQUESTS_AT_ONCE)
    parts: list[str] = []
    for name in chain.from_iterable(listed):
        run_id = layout.run_of(name)
        if run_id in runs:
            parts.append(name)
    return parts


def _reading_parts(table: str, locations: Sequence[str]) -> str:
    schema = SCHEMAS[table]
    columns = ["*", _RUN_DATE]
    if "run_id" in schema.names:
        run_id = _RUN_ID.format("filename")
        columns[0] = f"* REPLACE ({run_id})"
    if table == "verdicts":
        columns.append("filename")
    listed = ", ".join(columns)
    return f"SELECT {listed} FROM {_reading(schema, locations)}"


def _location_of(results: Results, name: str) -> str:
    """Return how this process's DuckDB reads an object, or the objects of a glob, of a results store."""
    if read_by_us(results.store):
        return f"{STORE_SCHEME}://{name}"
    # DuckDB takes a path for a pattern: a folder may have such a letter in its name.
    url = _WILDCARDS.sub(r"[\g<0>]", results.store.url)
    return f"{url}/{name}"


def _locations_of(results: Results, names: Iterable[str]) -> list[str]:
    return [_location_of(results, name) for name in names]


def _reading(schema: pa.Schema, locations: Sequence[str]) -> str:
    """Return what reads Parquet files, by paths or globs, by a schema: a column that a file lacks is null."""
    columns: list[str] = []
    for name, kind in _kinds_of(schema).items():
        column = f"name: {quoted(name)}, type: {quoted(kind)}, default_value: NULL"
        columns.append(f"{quoted(name)}: {{{column}}}")
    files = ", ".join(map(quoted, locations))
    fields = ", ".join(columns)
    return f"read_parquet([{files}], schema = MAP {{{fields}}})"


def _empty_table(table: str) -> str:
    """Return a query without rows that has the columns of a table; `store.verdicts` has the names of its files too."""
    kinds = _kinds_of(SCHEMAS[table])
    kinds["run_date"] = "DATE"
    if table == "verdicts":
        kinds["filename"] = "VARCHAR"
    return _without_rows(kinds)


def _without_rows(kinds: Mapping[str, str]) -> str:
    columns = ", ".join(f"NULL::{kind} AS {name}" for name, kind in kinds.items())
    return f"SELECT {columns} WHERE false"


def _kinds_of(schema: pa.Schema) -> dict[str, str]:
    return {field.name: _KINDS[field.type] for field in schema}


def _items_in(locations: Sequence[str], schema: pa.Schema) -> str:
    """Return the query for the items in some files, each with its run."""
    if not locations:
        return _without_rows({"run_id": "VARCHAR"} | _kinds_of(schema))
    run_id = "regexp_extract(filename, '_runs/([^/]+)/[^/]+/[^/]+$', 1) AS run_id"
    columns = ", ".join([run_id, *schema.names])
    return f"SELECT {columns} FROM {_reading(schema, locations)}"


def _advice() -> Mapping[str, str]:
    """Return `store.advice`, by reason, and `store.general_advice`, for any other reason."""
    rows: list[str] = []
    for reason, entry in reason_entries().items():
        remedy = quoted(entry.remedy)
        rows.append(f"({quoted(reason)}, {remedy})")
    listed = ",\n    ".join(rows)
    advice = f"FROM (VALUES\n    {listed}\n) AS advice (reason, what_to_do)"
    otherwise = quoted(about(None).remedy)
    return {"advice": advice, "general_advice": f"SELECT {otherwise} AS general_advice"}
