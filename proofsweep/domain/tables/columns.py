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
    """One column: its name, its type as Arrow writes it, and its meaning.

    Attributes:
        since: the first version of the table that has it; files of earlier versions lack it, so it reads as null.
    """

    name: str
    kind: str
    meaning: str
    nullable: bool = True
    since: int = 1


def version_of(columns: Sequence[Column]) -> int:
    """Give the version of a table: it grows with each change that adds columns."""
    return max(column.since for column in columns)


def empty_row(columns: Sequence[Column]) -> Row:
    """Make a row in which every cell is null, in the table's order."""
    return {column.name: None for column in columns}
