"""Open a results store in DuckDB, with the views over it."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir

import duckdb

from proofsweep.domain.errors import DISK_IS_FULL, ResultsError
from proofsweep.domain.runs import Plan
from proofsweep.queries.status import environment_in
from proofsweep.queries.tables import STORE_SCHEME, create_tables, read_by_us
from proofsweep.queries.views import NAMES, key_of, read_by, views, with_views, words_of
from proofsweep.store.latest import OFFLINE
from proofsweep.store.operations import environments_of_operations, environments_of_probes
from proofsweep.store.parts import Results
from proofsweep.store.sql import quoted
from proofsweep.store.tables import TABLES

_SETTINGS = (
    "SET TimeZone = 'UTC'",
    "SET memory_limit = '1GB'",
    # The footers of the parts are read once, not again for each mention of a table.
    "SET parquet_metadata_cache = true",
    # The order of rows that no query asks for costs memory.
    "SET preserve_insertion_order = false",
    # DuckDB estimates that files which are read by a schema hold one row. Where it orders joins itself, it may keep the
    # large side in memory; so it joins as the views are written, which have the small side on the right.
    # Late materialization ends with an internal error of DuckDB 2.0, if a query with LIMIT has a condition on the run.
    "SET disabled_optimizers = 'join_order,build_side_probe_side,late_materialization'",
)
_TABLES_OF_OPERATIONS = {name for name, table in TABLES.items() if table.written_by == "operation"}
_OF_OPERATIONS = _TABLES_OF_OPERATIONS | {"inventory"}
_FULL = {os.strerror(code): code for code in DISK_IS_FULL}


def open_views(
    results: Results,
    environment: str | None = None,
    *,
    preferred: str | None = None,
    asked: str = "",
    note: Callable[[str], object] | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open the views over a results store in DuckDB; `close` is for its end.

    The views show one environment of those that have what is `asked`: None takes `preferred` if it is among them, or
    the only one; `all` shows all. Only the views are made that are asked for, if any is: to make all takes a second.
    A `note` is told if others have what is asked, and this one has not. ResultsError if there is none, or not this one,
    or none is named and there are several. The macro `name_key` gives what spellings of one name have in common.
    """
    connection = duckdb.connect(config=OFFLINE)
    try:
        plans = _prepare(connection, results, _tables_asked(asked))
        runs = list(dict.fromkeys(plan.environment for plan in plans))
        environments = _environments_with(results, runs, asked)
        chosen = _chosen(results, runs, environments, environment, preferred)
        if note is not None and not words_of(asked).isdisjoint(NAMES):
            _warn_of_others(note, chosen, environments)
        tags: dict[str, None] = {}
        for plan in plans:
            if plan.environment in chosen:
                tags |= dict.fromkeys(plan.tag_names)
        every_view = views(tags)
        _show(connection, chosen)
        connection.execute(f"CREATE MACRO name_key(value) AS {key_of('value')}")
        for view in read_by(asked, every_view) or every_view:
            connection.execute(f"CREATE OR REPLACE VIEW {view.name} AS\n{view.query}")
    except BaseException:
        # Also on Ctrl-C: a connection that stays open complains at the end of the process.
        close(connection)
        raise
    return connection


@contextmanager
def opened(
    results: Results,
    environment: str | None = None,
    *,
    preferred: str | None = None,
    asked: str = "",
    note: Callable[[str], object] | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the views for the work inside, as `open_views` does."""
    connection = open_views(results, environment, preferred=preferred, asked=asked, note=note)
    try:
        yield connection
    finally:
        close(connection)


@contextmanager
def answering(results: Results, environments: Sequence[str], *names: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open what some views of these environments read, for queries that begin with `with_views`.

    It does not matter whether the store has a run of an environment.
    """
    with tables_of(results, with_views(*names)) as connection:
        _show(connection, environments)
        yield connection


@contextmanager
def tables_of(results: Results, asked: str | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the schema `store` alone, which mixes environments, for queries of our own: these in SQL, or any."""
    connection = duckdb.connect(config=OFFLINE)
    try:
        _prepare(connection, results, asked)
        yield connection
    except duckdb.Error as error:
        for words, code in _FULL.items():  # DuckDB tells it by the words of the system alone
            if words in str(error):
                raise OSError(code, words, gettempdir()) from error
        reason, _, _ = str(error).partition("\n")
        raise ResultsError(
            f"The results store {results.store.url} cannot be read ({reason}); see: proofsweep audit"
        ) from error
    finally:
        close(connection)


def close(connection: duckdb.DuckDBPyConnection) -> None:
    """Close a connection; DuckDB complains at the end of the process about a file system that it still has."""
    if connection.filesystem_is_registered(STORE_SCHEME):
        connection.unregister_filesystem(STORE_SCHEME)
    connection.close()


def _prepare(connection: duckdb.DuckDBPyConnection, results: Results, asked: str | None = None) -> list[Plan]:
    for setting in _SETTINGS:
        connection.execute(setting)
    # Else DuckDB writes what does not fit into memory into the working folder.
    spill = Path(gettempdir(), f"proofsweep-query-{token_hex(8)}")
    connection.execute(f"SET temp_directory = {quoted(str(spill))}")
    if read_by_us(results.store):
        from proofsweep.queries.store_files import StoreFiles  # noqa: PLC0415 - few commands need fsspec

        connection.register_filesystem(StoreFiles(results.store))
    return create_tables(connection, results, asked)


def _show(connection: duckdb.DuckDBPyConnection, environments: Iterable[str]) -> None:
    texts = ", ".join(map(quoted, environments))
    connection.execute(f"SET VARIABLE environments = [{texts}]")


def _environments_with(results: Results, runs: Sequence[str], asked: str) -> dict[str, list[str]]:
    """Name the environments that have what is asked, by what it is; those of `runs` are known.

    Some have operations or probes and no run. A question about runs alone does not see these: it would be empty there.
    """
    named = words_of(asked).intersection(NAMES) or frozenset(NAMES)
    asks_operations = not named.isdisjoint(_OF_OPERATIONS)
    asks_calls = "exchanges" in named
    environments: dict[str, list[str]] = {}
    if named - _OF_OPERATIONS - {"exchanges", "probes"}:
        environments["run"] = [*runs]
    # To know the environments of operations takes a request for each of them: only who asks for one pays that.
    operations: list[str] = []
    if asks_calls or asks_operations:
        operations = sorted(environments_of_operations(results))
    if asks_calls:
        environments["call"] = [*runs, *operations]
    if asks_operations:
        environments["operation"] = operations
    if "probes" in named:
        environments["probe"] = sorted(environments_of_probes(results))
    return environments


def _warn_of_others(note: Callable[[str], object], chosen: Sequence[str], there: Mapping[str, Sequence[str]]) -> None:
    for kind, environments in there.items():
        if environments and set(environments).isdisjoint(chosen):
            shown = ", ".join(chosen)
            others = ", ".join(environments)
            note(f"There is no {kind} of {shown}, but of {others} (--environment).")


def _tables_asked(asked: str) -> str | None:
    """Return the SQL of the views that are asked for, whose tables are made; None for all, or if tables are asked."""
    made = read_by(asked, views())
    is_about_tables = "store" in words_of(asked)
    if not made or is_about_tables:
        return None
    return "\n".join(view.query for view in made)


def _chosen(
    results: Results,
    runs: Sequence[str],
    there: Mapping[str, Sequence[str]],
    environment: str | None,
    preferred: str | None,
) -> list[str]:
    """Return which environments the views show; no run that comes later changes that silently."""
    named = chain(runs, *there.values())
    every = list(dict.fromkeys(named))
    if environment == "all" and every:
        return every
    if environment not in {None, "all"}:
        if every and environment not in every:
            listed = ", ".join(every)
            none = f"no run of the environment {environment}: there are {listed}"
            raise ResultsError(f"{results.store.url} holds {none}; name one of them, or all (--environment).")
        return [str(environment)]  # without a run, it may have operations
    # Of several that one is meant which has all that is asked, else the one with runs. Where more than one has it
    # nobody guesses: figures of a test environment would be taken for those of production.
    with_all = frozenset(every)
    for environments in there.values():
        if environments:
            with_all = with_all.intersection(environments)
    for meant in (with_all, runs):
        if preferred not in every and len(meant) == 1:
            return [*meant]
    return [environment_in(results, every, preferred)]
