"""How a column is declared, and what a list of them is to Arrow and to the docs."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

TEXT = pa.string()
INT = pa.int64()
SMALL = pa.int32()
STATUS = pa.int16()
REAL = pa.float64()
FLAG = pa.bool_()
TIME = pa.timestamp("us", tz="UTC")
BYTES = pa.binary()

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, Arrow type and meaning; `nullable` unless said otherwise."""

    name: str
    kind: pa.DataType
    meaning: str
    nullable: bool = True


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    """Give the Arrow schema of a table."""
    return pa.schema([pa.field(column.name, column.kind, nullable=column.nullable) for column in columns])


def markdown_of(columns: Sequence[Column]) -> str:
    """Write the columns as a Markdown table, for the docs."""
    lines = ["| column | type | meaning |", "|---|---|---|"]
    for column in columns:
        kind = f"{column.kind}" if column.nullable else f"{column.kind}, not null"
        lines.append(f"| `{column.name}` | {kind} | {column.meaning} |")
    return "\n".join(lines) + "\n"
