"""Screening: named conditions on what the service reports of a file, as SQL. They never decide what is accepted.

The contract leaves screening to the caller; grade and classification are report-only (contract, What the service does).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeVar

import duckdb
import pyarrow as pa

from proofsweep.errors import ConfigError
from proofsweep.model.completion_report import SCREENING_PREFIX
from proofsweep.model.tables.columns import Row
from proofsweep.model.tables.schemas import SCHEMAS

REPORTED = {
    "classification": "VARCHAR",
    "grade_human": "DOUBLE",
    "grade_ai": "DOUBLE",
    "grade_unknown": "DOUBLE",
    "grade_risk_category": "VARCHAR",
    "grade_rubric_version": "VARCHAR",
}
"""The columns that a condition may name, with their types in DuckDB."""
_MORE_THAN_ONE_ROW = {"SUBQUERY", "WINDOW", "SET_OPERATION_NODE"}
# Rows that are screened at once. Chosen: any value from 2,500 to 10,000 does.
_BATCH_ROWS = 5_000

Place = TypeVar("Place")


def screening_columns(conditions: Mapping[str, str]) -> dict[str, str]:
    """Return the SQL of each screening column; ConfigError if one is no condition on the reported columns."""
    if not conditions:
        return {}
    nulls = ", ".join(f"NULL::{kind} AS {column}" for column, kind in REPORTED.items())
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE reported AS SELECT {nulls}")
        for name, condition in conditions.items():
            _check(database, name, condition)
    return {f"{SCREENING_PREFIX}{name}": f"({condition}\n)" for name, condition in conditions.items()}


def screened(
    rows: Iterable[tuple[Place, Row]], columns: Mapping[str, str]
) -> Iterator[tuple[Place, Row, list[bool | None]]]:
    """Yield rows of `verdicts`, each with its screening cells: null where the service reported too little.

    The rows have the columns `REPORTED`, if there is any screening column. ConfigError if a condition cannot be worked
    out for a row.
    """
    schema = pa.schema([pa.field("place", pa.int64()), *(SCHEMAS["verdicts"].field(name) for name in REPORTED)])
    query = f"SELECT {', '.join(columns.values()) or 'NULL'} FROM reported ORDER BY place"  # noqa: S608 - it was checked
    waiting = iter(rows)
    with duckdb.connect() as database:
        while batch := list(islice(waiting, _BATCH_ROWS)):
            cells: list[tuple[bool | None, ...]] = [()] * len(batch)
            if columns:
                reported = [{"place": at} | {name: row[name] for name in REPORTED} for at, (_, row) in enumerate(batch)]
                database.register("reported", pa.Table.from_pylist(reported, schema=schema))
                cells = _answered(database, query)
            yield from ((place, row, list(own)) for (place, row), own in zip(batch, cells, strict=True))


def _answered(database: duckdb.DuckDBPyConnection, query: str) -> list[tuple[bool | None, ...]]:
    try:
        return database.execute(query).fetchall()
    except duckdb.Error as error:
        raise ConfigError(f"screening: {_reason_of(error)}") from error


def _reason_of(error: duckdb.Error) -> str:
    return " ".join(str(error).partition("\nLINE ")[0].split())


def _check(database: duckdb.DuckDBPyConnection, name: str, condition: str) -> None:
    query = f"SELECT classification, ({condition}\n) FROM reported"  # noqa: S608 - it is checked, not run
    try:
        if len(database.extract_statements(query)) != 1 or _kinds_of_parts(database, query) & _MORE_THAN_ONE_ROW:
            raise ConfigError(f"screening.{name}: write one condition on one row, without a query of its own.")
        kinds = [kind for _, kind, *_ in database.execute(f"DESCRIBE {query}").fetchall()]
    except duckdb.Error as error:
        raise ConfigError(f"screening.{name}: {_reason_of(error)} It may name {', '.join(REPORTED)}.") from error
    if kinds != ["VARCHAR", "BOOLEAN"]:
        raise ConfigError(f"screening.{name}: write a condition that is true or false, for example: grade_ai > 0.5")


def _kinds_of_parts(database: duckdb.DuckDBPyConnection, query: str) -> set[object]:
    (text,) = database.execute("SELECT json_serialize_sql($query)", {"query": query}).fetchone() or ("{}",)
    found: set[object] = set()
    waiting: list[object] = [json.loads(text)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            found |= {kind for name in ("class", "type") if isinstance(kind := part.get(name), str)}
        waiting += part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
    return found
