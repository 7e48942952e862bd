"""How a column is declared; `schemas` turns the columns into Arrow's types."""

from collections.abc import Sequence
from dataclasses import dataclass

TEXT = "string"
INT = "int64"
SMALL = "int32"
STATUS = "int16"
REAL = "double"
FLAG = "bool"
TIME = "timestamp[us, tz=UTC]"
BYTES = "binary"

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its type as Arrow writes it, and its meaning."""

    name: str
    kind: str
    meaning: str
    nullable: bool = True


def empty_row(columns: Sequence[Column]) -> Row:
    """Make a row in which every cell is null, in the table's order."""
    return {column.name: None for column in columns}
