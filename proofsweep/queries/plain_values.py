"""The rows of a query as plain values: numbers, texts, lists and objects, which a table, CSV and JSON can all hold."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from math import isfinite

import duckdb
import pyarrow as pa

from proofsweep.store.sql import quoted_name

_BATCH_ROWS = 10_000
_WHOLE = {"tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint"}
_LARGE = {"hugeint", "uhugeint", "bignum"}  # Arrow has them as decimals, or not at all
_BROKEN = {"float", "double"}
_NUMBERS = _WHOLE | _LARGE | _BROKEN | {"decimal"}
# What Arrow gives Python as it is. All else is written by DuckDB as text: Python has no date beyond the year 9999, no
# hour 24 and no interval with months, and raises an error for some of them.
_AS_THEY_ARE = _WHOLE | _BROKEN | {"hugeint", "decimal", "boolean", "varchar", "uuid", "enum", "null"}
_LONGEST_FRACTION = 6  # digits of a second that Python keeps


@dataclass(frozen=True, slots=True)
class PlainAnswer:
    names: list[str]
    are_numbers: list[bool]  # of the columns
    rows: Iterator[tuple[object, ...]]

    @property
    def keys(self) -> list[str]:
        """The names without one twice, as an object needs them."""
        keys: list[str] = []
        for name in self.names:
            number, key = 0, name
            while key in keys:
                number += 1
                key = f"{name}_{number}"
            keys.append(key)
        return keys


def plain_answer(answer: duckdb.DuckDBPyRelation) -> PlainAnswer:
    """Return the rows of a query, as they are read: a value is None, a number, text, a list or a dict.

    Dates and times are ISO 8601, or as DuckDB writes them if they lie beyond the year 9999; intervals are like
    `3 days 02:00:00`. What is no number (NaN) and what is infinite is None.
    """
    columns: list[str] = []
    for number, kind in enumerate(answer.types, 1):
        written = _plain_type(kind)
        value = f"#{number}"
        if written != str(kind):
            value = f"CAST({value} AS {written})"
        # Names of our own: the query may have one twice.
        columns.append(f"{value} AS c{number}")
    plain = answer.project(", ".join(columns))
    batches = plain.to_arrow_reader(_BATCH_ROWS)
    are_numbers = [kind.id in _NUMBERS for kind in answer.types]
    readers = list(map(_reader_of, answer.types))
    return PlainAnswer(answer.columns, are_numbers, _rows(batches, readers))


Reader = Callable[[object], object]


def _rows(batches: pa.RecordBatchReader, readers: list[Reader | None]) -> Iterator[tuple[object, ...]]:
    for batch in batches:
        columns: list[list[object]] = []
        for column, read in zip(batch.columns, readers, strict=True):
            values = column.to_pylist()
            if read is not None:
                values = list(map(read, values))
            columns.append(values)
        yield from zip(*columns, strict=True)


def _plain_type(kind: duckdb.sqltypes.DuckDBPyType) -> str:
    """Return the type as which DuckDB gives a column: texts in the place of what Python cannot hold."""
    match kind.id:
        case "list" | "array":
            return f"{_plain_type(_child(kind, 'child'))}[]"
        case "map":
            return f"MAP(VARCHAR, {_plain_type(_child(kind, 'value'))})"
        case "struct":
            fields: list[str] = []
            for name, _ in kind.children:
                plain = _plain_type(_child(kind, name))
                fields.append(f"{quoted_name(name)} {plain}")
            listed = ", ".join(fields)
            return f"STRUCT({listed})"
    return str(kind) if kind.id in _AS_THEY_ARE else "VARCHAR"


def _child(kind: duckdb.sqltypes.DuckDBPyType, name: str) -> duckdb.sqltypes.DuckDBPyType:
    # Only the size of an array and the words of an enum are no types.
    child: duckdb.sqltypes.DuckDBPyType = dict(kind.children)[name]  # type: ignore[assignment]
    return child


def _reader_of(kind: duckdb.sqltypes.DuckDBPyType) -> Reader | None:
    """Return what makes a value of Arrow a plain one; None if it is one already."""
    match kind.id:
        case "list" | "array":
            return _reader_of_list(_reader_of_child(kind, "child"))
        case "map":
            return _reader_of_map(_reader_of_child(kind, "value"))
        case "struct":
            readers = {name: _reader_of_child(kind, name) for name, _ in kind.children}
            return _reader_of_struct(readers)
        case id_ if id_.startswith("timestamp"):
            return _iso_instant
    return _READERS.get(kind.id)


def _reader_of_child(kind: duckdb.sqltypes.DuckDBPyType, name: str) -> Reader:
    child = _child(kind, name)
    return _reader_of(child) or _same


def _reader_of_list(read_member: Reader) -> Reader:
    def read(members: object) -> object:
        if not isinstance(members, list):
            return None
        return list(map(read_member, members))

    return read


def _reader_of_map(read_value: Reader) -> Reader:
    def read(pairs: object) -> object:
        if not isinstance(pairs, list):  # Arrow gives a map as a list of pairs
            return None
        return {key: read_value(value) for key, value in pairs}

    return read


def _reader_of_struct(readers: dict[str, Reader]) -> Reader:
    def read(fields: object) -> object:
        if not isinstance(fields, dict):
            return None
        return {name: readers[name](value) for name, value in fields.items()}

    return read


def _same(value: object) -> object:
    return value


def _finite(value: object) -> object:
    if not isinstance(value, float) or not isfinite(value):
        return None  # JSON has no word for it
    return value


def _whole(value: object) -> object:
    if not isinstance(value, Decimal | str):
        return value
    with suppress(ValueError):  # Python reads no number of thousands of digits; it stays text
        return int(value)
    return value


def _whole_or_decimal(value: object) -> object:
    """Return a count as a whole number: DuckDB adds whole numbers up in a type that Arrow has as a decimal."""
    if not isinstance(value, Decimal):
        return value
    is_whole = value.as_tuple().exponent == 0
    return int(value) if is_whole else value


def _iso_instant(value: object) -> object:
    """Write an instant with a T, as programs expect; one that Python cannot hold stays as DuckDB writes it."""
    if not isinstance(value, str):
        return value
    _, _, rest = value.partition(".")
    fraction, _, _ = rest.partition("+")
    if len(fraction) > _LONGEST_FRACTION:
        return value.replace(" ", "T", 1)
    with suppress(ValueError):
        return datetime.fromisoformat(value).isoformat()
    return value


_READERS: dict[str, Reader] = {
    **dict.fromkeys(_BROKEN, _finite),
    **dict.fromkeys(_LARGE, _whole),
    "decimal": _whole_or_decimal,
}
