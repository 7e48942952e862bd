"""Open a results store in DuckDB, with the views over it."""

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir
from typing import TYPE_CHECKING

import duckdb
from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import Plan
from proofsweep.queries.tables import STORE_SCHEME, create_tables, read_by_us
from proofsweep.queries.views import View, quoted, read_by, views
from proofsweep.store.objects import REQUESTS_AT_ONCE, FolderStore
from proofsweep.store.parts import Results

if TYPE_CHECKING:
    from proofsweep.store.bucket_store import BucketStore

_BLOCK_BYTES = 1024 * 1024  # that are asked of a store at least
_KEPT_OBJECTS = 64  # no larger than that, in memory
_SETTINGS = (
    "SET TimeZone = 'UTC'",
    "SET memory_limit = '1GB'",
    # The footers of the parts are read once, not again for each mention of a table.
    "SET parquet_metadata_cache = true",
    # The order of rows that no query asks for costs memory.
    "SET preserve_insertion_order = false",
    # DuckDB takes files that are read by a schema for a single row, and would keep the large side of a join in memory.
    # The views are written with the small side on the right.
    # And DuckDB 2.0 ends with an internal error where it reads the rest of the first rows by their run's condition.
    "SET disabled_optimizers = 'join_order,build_side_probe_side,late_materialization'",
)
_OFFLINE: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_FULL = {os.strerror(code): code for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)}


def open_views(
    results: Results, environment: str | None = None, *, preferred: str | None = None, asked: str = ""
) -> duckdb.DuckDBPyConnection:
    """Open the views over a results store in DuckDB; `close` is for its end.

    The views show one environment: None takes the only one, or `preferred` if the store has it; `all` shows all. If it
    is known what will be `asked`, only the views are made that this names, if it names any: to make all takes a second.
    ResultsError if there is no run, or none in this environment, or none is named and there are several.
    """
    connection = duckdb.connect(config=_OFFLINE)
    try:
        plans = _prepare(connection, results)
        chosen = _chosen(results, list(dict.fromkeys(plan.environment for plan in plans)), environment, preferred)
        shown = (plan for plan in plans if plan.environment in chosen)
        known = views(dict.fromkeys(name for plan in shown for name in plan.tag_names))
        _create_views(connection, chosen, read_by([asked.lower()], known) or known)
    except BaseException:
        close(connection)
        raise
    return connection


@contextmanager
def opened(
    results: Results, environment: str | None = None, *, preferred: str | None = None, asked: str = ""
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the views for the work inside, as `open_views` does."""
    connection = open_views(results, environment, preferred=preferred, asked=asked)
    try:
        yield connection
    finally:
        close(connection)


@contextmanager
def answering(results: Results, environment: str, *names: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open views of one environment, and those that they read, whether the store has a run of it or not."""
    read = read_by(names, views())
    with tables_of(results, " ".join(view.query for view in read)) as connection:
        _create_views(connection, [environment], read)
        yield connection


@contextmanager
def tables_of(results: Results, asked: str | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the schema `store` alone, which mixes environments, for queries of our own: these in SQL, or any."""
    connection = duckdb.connect(config=_OFFLINE)
    try:
        _prepare(connection, results, asked)
        yield connection
    except duckdb.Error as error:
        for words, code in _FULL.items():  # DuckDB tells it by the words of the system alone
            if words in str(error):
                raise OSError(code, words, gettempdir()) from error
        reason = str(error).partition("\n")[0]
        raise ResultsError(f"The results store {results.store.url} cannot be read ({reason}).") from error
    finally:
        close(connection)


def close(connection: duckdb.DuckDBPyConnection) -> None:
    """Close a connection; DuckDB complains at the end of the process about a file system that it still has."""
    if connection.filesystem_is_registered(STORE_SCHEME):
        connection.unregister_filesystem(STORE_SCHEME)
    connection.close()


def _prepare(connection: duckdb.DuckDBPyConnection, results: Results, asked: str | None = None) -> list[Plan]:
    spill = Path(gettempdir(), f"proofsweep-query-{token_hex(8)}")  # else DuckDB writes into the working folder
    for setting in (*_SETTINGS, f"SET temp_directory = {quoted(str(spill))}"):
        connection.execute(setting)
    if read_by_us(results.store):
        connection.register_filesystem(StoreFiles(results.store))
    return create_tables(connection, results, asked)


def _create_views(connection: duckdb.DuckDBPyConnection, chosen: Sequence[str], wanted: Iterable[View]) -> None:
    connection.execute(f"SET VARIABLE environments = [{', '.join(map(quoted, chosen))}]")
    for view in wanted:
        connection.execute(view.statement())


def _chosen(results: Results, there: list[str], environment: str | None, preferred: str | None) -> list[str]:
    """Return which environments the views show; no run that comes later changes that silently."""
    if not there and environment not in {None, "all"}:
        return [str(environment)]  # it may have operations
    if not there:
        raise ResultsError(f"There is no run in {results.store.url}; begin one with: proofsweep verify CATALOG")
    if environment == "all":
        return there
    chosen = environment or (preferred if preferred in there else there[0] if len(there) == 1 else None)
    if chosen is None or chosen not in there:
        none_of = f"no run of the environment {environment}: there are" if environment else "the environments"
        raise ResultsError(
            f"{results.store.url} holds {none_of} {', '.join(there)}; name one of them, or all (--environment)."
        )
    return [chosen]


class StoreFiles(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The objects of a results store, as `proofsweep://<name>`; nothing can be written."""

    protocol = STORE_SCHEME
    cachable = False

    def __init__(self, store: "BucketStore | FolderStore") -> None:
        super().__init__()
        self._store = store
        self._sizes = lru_cache(maxsize=None)(store.sizes)
        self._whole = lru_cache(maxsize=_KEPT_OBJECTS)(store.read)

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
        """Read a range; a small object is asked for once, as its footer and each of its columns are read apart."""
        size = self._sizes(name.rpartition("/")[0]).get(name, 0)
        content = self._whole(name) if 0 < size <= _BLOCK_BYTES else None
        return self._store.read_range(name, start, end) if content is None else content[start:end]


class _Object(AbstractBufferedFile):  # type: ignore[misc]  # fsspec has no types
    def _fetch_range(self, start: int, end: int) -> bytes:
        content: bytes = self.fs.read_range(self.path, start, end)
        return content
