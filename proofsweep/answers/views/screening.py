"""Screening: named conditions on what the service reports of a file, as SQL. They never decide what is accepted.

The contract leaves screening to the caller; grade and classification are report-only (contract, What the service does).
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from proofsweep.conditions import columns_of_condition, judged
from proofsweep.errors import ConfigError
from proofsweep.model.completion_report import SCREENING_PREFIX
from proofsweep.model.tables.columns import Row
from proofsweep.model.tables.schemas import SCHEMAS

REPORTED = {
    name: SCHEMAS["verdicts"].field(name).type
    for name in (
        "classification",
        "grade_human",
        "grade_ai",
        "grade_unknown",
        "grade_risk_category",
        "grade_rubric_version",
    )
}
"""The columns that a condition may name, with their types."""

NO_SCREENING: Mapping[str, str] = {}

At = TypeVar("At")


def screening_columns(conditions: Mapping[str, str]) -> dict[str, str]:
    """Return the SQL of each screening column; ConfigError if one is no condition on the reported columns."""
    for name, condition in conditions.items():
        columns_of_condition(condition, REPORTED, partial(_refusal, f"screening.{name}"))
    return {f"{SCREENING_PREFIX}{name}": f"({condition}\n)" for name, condition in conditions.items()}


def screened(
    rows: Iterable[tuple[At, Row]], columns: Mapping[str, str]
) -> Iterator[tuple[At, Row, tuple[bool | None, ...]]]:
    """Yield rows of `verdicts`, each with its screening cells: null where the service reported too little.

    The rows have the columns `REPORTED`, if there is any screening column. ConfigError if a condition cannot be worked
    out for a row.
    """

    def cells_of(batch: list[tuple[At, Row]]) -> "dict[str, pa.Array[Any]]":
        return {name: pa.array([row[name] for _, row in batch], kind) for name, kind in REPORTED.items()}

    for (index, row), cells in judged(rows, list(columns.values()), cells_of, partial(_refusal, "screening")):
        yield index, row, cells


def _refusal(setting: str, because: str) -> ConfigError:
    return ConfigError(f"{setting}: {' '.join(because.split())}. A condition may name {', '.join(REPORTED)}.")
