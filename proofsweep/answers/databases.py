"""Open a database that takes rows: PostgreSQL, SQLite or DuckDB. The work inside is one transaction.

All three understand the same statements; here is what differs between them.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Protocol
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import pyarrow as pa

from proofsweep.errors import ResultsError, UsageError, missing_extra
from proofsweep.model.tables.columns import FLAG, INT, STATUS, TEXT, TIME
from proofsweep.text import printable

if TYPE_CHECKING:
    import duckdb
    import psycopg

Cell = str | int | bool | None
Line = Sequence[Cell]

_KINDS = "postgresql://USER@HOST/DATABASE, sqlite:///FILE or duckdb:///FILE"
_NAME = re.compile(r"[A-Za-z_]\w{0,62}(\.[A-Za-z_]\w{0,62})?", re.ASCII)
# chosen: how long a server may take to accept a connection.
_CONNECT_SECONDS = 15
_COLUMNS = "SELECT column_name FROM information_schema.columns WHERE {name} AND table_schema = {schema}"


class Database(Protocol):
    """One open transaction.

    Attributes:
        types: the database's word for each kind of column.
    """

    types: Mapping[str, str]

    def source(self, width: int) -> str:
        """Return what stands for lines of so many cells in the statement of `insert`."""
        ...

    def columns_of(self, table: "TableName") -> list[str]:
        """Return the names of a table's columns; none if there is no such table."""
        ...

    def execute(self, statement: str) -> None:
        """Carry out a statement without values."""
        ...

    def insert(self, statement: str, lines: Sequence[Line]) -> None:
        """Carry out a statement that has a source, with these lines."""
        ...


@dataclass(frozen=True, slots=True)
class TableName:
    """The name of a table, perhaps in a schema; UsageError if it is not made of ASCII letters, digits and `_`."""

    text: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.text):
            raise UsageError(
                f"--table {printable(self.text)!r}: a table is named by letters, digits and _, perhaps after its "
                "schema: proofs or music.proofs."
            )

    @property
    def parts(self) -> tuple[str | None, str]:
        """Return the schema, None for the usual one, and the name in it."""
        schema, dot, name = self.text.rpartition(".")
        return (schema if dot else None), name

    @property
    def sql(self) -> str:
        """Return the name as statements have it."""
        return ".".join(f'"{part}"' for part in self.text.split("."))


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """Where a database is.

    Attributes:
        shown: the URL without its password and options, for people.
    """

    kind: str
    shown: str
    split: SplitResult = field(repr=False)

    @classmethod
    def of(cls, text: str) -> "DatabaseUrl":
        """Read a URL; UsageError, without the text since it may hold a password, if it names no database."""
        with suppress(ValueError):
            split = urlsplit(text.strip())
            kind = {"postgres": "postgresql"}.get(split.scheme, split.scheme)
            if kind in _OPENERS and _is_complete(kind, split):
                host = f"{split.hostname or ''}{f':{split.port}' if split.port else ''}"
                path = split.path if kind == "postgresql" else text.strip().partition("://")[2]
                return cls(kind, printable(f"{kind}://{host}{path}"), split._replace(path=path))
        raise UsageError(f"--to names no database; write {_KINDS}, and what is odd in a password as %XX.")

    @property
    def file(self) -> str:
        """Return the path of a file: relative after three slashes, absolute after four."""
        return self.split.path.removeprefix("/")

    @contextmanager
    def opened(self) -> Iterator[Database]:
        """Open the database for one transaction: all of the work inside is kept, or nothing if it raises.

        Raises:
            ConfigError: the driver is not installed.
            ResultsError: the database cannot be opened, or refuses something.
        """
        opener, module = _OPENERS[self.kind]
        failure = _failure_of(module)
        try:
            with opener(self) as database:
                yield database
        except failure as error:
            raise ResultsError(f"{self.shown} does not take the rows: {self._without_password(str(error))}") from None

    def _without_password(self, words: str) -> str:
        line = " ".join(words.split()) or "it gives no reason."
        given = [value for name, value in self.options.items() if "password" in name]
        for secret in filter(None, [self.split.password, unquote(self.split.password or ""), *given]):
            line = line.replace(secret, "***")
        return line

    @property
    def options(self) -> dict[str, str]:
        """Return the options of a server's URL, such as `sslmode`."""
        return dict(parse_qsl(self.split.query)) if self.kind == "postgresql" else {}


def _is_complete(kind: str, split: SplitResult) -> bool:
    if kind == "postgresql":  # another sign in the path would be of a password that is not percent-encoded
        return not split.fragment and re.fullmatch(r"/[^/@:]+/?", split.path) is not None
    return not split.netloc and split.path.strip("/") != ""


def _failure_of(module: str) -> type[Exception]:
    """Return the base of a driver's errors; ConfigError if it is not installed."""
    if module == "psycopg":
        try:
            import_module(module)
        except ImportError as error:
            raise missing_extra("A table of PostgreSQL", "postgresql") from error
    failure: type[Exception] = import_module(module).Error
    return failure


@contextmanager
def _sqlite(url: DatabaseUrl) -> Iterator[Database]:
    with closing(sqlite3.connect(url.file, isolation_level=None)) as connection:  # transactions are begun here
        connection.execute("BEGIN IMMEDIATE")
        yield _Sqlite(connection)
        connection.execute("COMMIT")


class _Sqlite:
    types: Mapping[str, str] = {TEXT: "TEXT", INT: "INTEGER", STATUS: "INTEGER", FLAG: "BOOLEAN", TIME: "TEXT"}

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def source(self, width: int) -> str:
        return f"VALUES ({', '.join('?' * width)})"

    def execute(self, statement: str) -> None:
        self._connection.execute(statement)

    def insert(self, statement: str, lines: Sequence[Line]) -> None:
        self._connection.executemany(statement, lines)

    def columns_of(self, table: TableName) -> list[str]:
        schema, name = table.parts
        found = self._connection.execute("SELECT name FROM pragma_table_info(?, ?)", (name, schema or "main"))
        return [column for (column,) in found]


@contextmanager
def _duckdb(url: DatabaseUrl) -> Iterator[Database]:
    import duckdb  # noqa: PLC0415 - only for this

    with closing(duckdb.connect(url.file)) as connection:
        connection.begin()
        yield _Duckdb(connection)
        connection.commit()


class _Duckdb:
    types: Mapping[str, str] = {TEXT: "VARCHAR", INT: "BIGINT", STATUS: "INTEGER", FLAG: "BOOLEAN", TIME: "TIMESTAMPTZ"}

    def __init__(self, connection: "duckdb.DuckDBPyConnection") -> None:
        self._connection = connection

    def source(self, width: int) -> str:  # noqa: ARG002 - they are all of its cells
        return "SELECT * FROM lines"

    def execute(self, statement: str) -> None:
        self._connection.execute(statement)

    def insert(self, statement: str, lines: Sequence[Line]) -> None:
        """Insert them as one Arrow table: a statement for each line takes 2 ms."""
        cells = {f"cell{number}": list(column) for number, column in enumerate(zip(*lines, strict=True))}
        self._connection.register("lines", pa.table(cells))
        self._connection.execute(statement)

    def columns_of(self, table: TableName) -> list[str]:
        schema, name = table.parts
        query = _COLUMNS.format(name="lower(table_name) = lower(?)", schema="coalesce(?, current_schema())")
        return [column for (column,) in self._connection.execute(query, [name, schema]).fetchall()]


@contextmanager
def _postgresql(url: DatabaseUrl) -> Iterator[Database]:
    import psycopg  # noqa: PLC0415 - an extra

    split = url.split
    # By parts, not as a URL: what libpq says of a URL that it cannot read may hold the password.
    parts = {
        "host": split.hostname,
        "port": split.port,
        "user": split.username and unquote(split.username),
        "password": split.password and unquote(split.password),
        "dbname": unquote(split.path.strip("/")),
        "connect_timeout": _CONNECT_SECONDS,
    }
    given = {name: value for name, value in parts.items() if value is not None}
    with psycopg.connect(**(given | url.options)) as connection:  # type: ignore[arg-type]  # the options are text
        yield _Postgresql(connection)


class _Postgresql:
    types: Mapping[str, str] = {TEXT: "TEXT", INT: "BIGINT", STATUS: "INTEGER", FLAG: "BOOLEAN", TIME: "TIMESTAMPTZ"}

    def __init__(self, connection: "psycopg.Connection") -> None:
        self._connection = connection

    def source(self, width: int) -> str:
        return f"VALUES ({', '.join(f'${number + 1}' for number in range(width))})"

    def execute(self, statement: str) -> None:
        self._connection.execute(statement.encode())

    def insert(self, statement: str, lines: Sequence[Line]) -> None:
        import psycopg  # noqa: PLC0415 - an extra

        with psycopg.RawCursor(self._connection) as cursor:  # a name may hold the marks of the usual one
            cursor.executemany(statement.encode(), lines)

    def columns_of(self, table: TableName) -> list[str]:
        schema, name = table.parts
        query = _COLUMNS.format(name="table_name = %s", schema="coalesce(%s, current_schema())")
        return [column for (column,) in self._connection.execute(query.encode(), [name, schema]).fetchall()]


_OPENERS: Mapping[str, tuple[Callable[[DatabaseUrl], AbstractContextManager[Database]], str]] = {
    "postgresql": (_postgresql, "psycopg"),
    "sqlite": (_sqlite, "sqlite3"),
    "duckdb": (_duckdb, "duckdb"),
}
