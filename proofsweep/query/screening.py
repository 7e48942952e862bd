"""Screening: named conditions on what the service reports of a file, as SQL. They never decide what is accepted.

The contract leaves screening to the caller; grade and classification are report-only (contract, What the service does).
"""

import json
from collections.abc import Mapping

import duckdb

from proofsweep.errors import ConfigError

PREFIX = "screening_"
_REPORTED = {
    "classification": "VARCHAR",
    "grade_human": "DOUBLE",
    "grade_ai": "DOUBLE",
    "grade_unknown": "DOUBLE",
    "grade_risk_category": "VARCHAR",
    "grade_rubric_version": "VARCHAR",
}
"""The columns that a condition may name, with their types in DuckDB."""
_MORE_THAN_ONE_ROW = {"SUBQUERY", "WINDOW"}


def screening_columns(conditions: Mapping[str, str]) -> dict[str, str]:
    """Give the SQL expression of each screening column, by the column's name.

    Args:
        conditions: SQL conditions by their names, as the settings have them.

    Raises:
        ConfigError: one is no condition on the reported columns.
    """
    if not conditions:
        return {}
    nulls = ", ".join(f"NULL::{kind} AS {column}" for column, kind in _REPORTED.items())
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE reported AS SELECT {nulls}")
        for name, condition in conditions.items():
            _check(database, name, condition)
    return {f"{PREFIX}{name}": f"({condition}\n)" for name, condition in conditions.items()}


def _check(database: duckdb.DuckDBPyConnection, name: str, condition: str) -> None:
    query = f"SELECT classification, ({condition}\n) FROM reported"  # noqa: S608 - it is checked, not run
    try:
        if len(database.extract_statements(query)) != 1 or _classes(database, query) & _MORE_THAN_ONE_ROW:
            raise ConfigError(f"screening.{name}: write one condition on one row, without a query of its own.")
        kinds = [kind for _, kind, *_ in database.execute(f"DESCRIBE {query}").fetchall()]
    except duckdb.Error as error:
        reason = " ".join(str(error).partition("\nLINE ")[0].split())
        raise ConfigError(f"screening.{name}: {reason} It may name {', '.join(_REPORTED)}.") from error
    if kinds != ["VARCHAR", "BOOLEAN"]:
        raise ConfigError(f"screening.{name}: write a condition that is true or false, for example: grade_ai > 0.5")


def _classes(database: duckdb.DuckDBPyConnection, query: str) -> set[object]:
    """Give the classes of all parts of a query."""
    (text,) = database.execute("SELECT json_serialize_sql($query)", {"query": query}).fetchone() or ("{}",)
    found: set[object] = set()
    waiting: list[object] = [json.loads(text)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            found.add(part.get("class"))
        waiting += part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
    return found
