"""How a table and its columns are declared; `schemas` turns the columns into Arrow's types."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from proofsweep.domain.items import Row

TEXT = "string"
INT = "int64"
SMALL = "int32"
STATUS = "int16"
REAL = "double"
FLAG = "bool"
TIME = "timestamp[us, tz=UTC]"
BYTES = "binary"

Writer = Literal["leg", "ingest pass", "monitoring", "operation"]


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: str
    meaning: str
    nullable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """All that there is to say of one table; its schema, view, docs and searches are made of it."""

    name: str  # of the table, its view and the folder of its parts
    meaning: str  # what one row is, in a sentence or two
    columns: Sequence[Column]
    written_by: Writer
    # says in words what a row tells of a proof; None if rows name no proof.
    proof_line: Callable[[Row], str] | None = None
    proof_time: str | None = None  # the column that says when; None for the time in the operation's ID


def empty_row(columns: Sequence[Column]) -> Row:
    return {column.name: None for column in columns}


def with_instants(row: Row, columns: Sequence[Column]) -> Row:
    """Read a row from JSON, where instants are ISO text."""
    times = {column.name for column in columns if column.kind == TIME}
    is_text = {name: name in times and cell is not None for name, cell in row.items()}
    return {name: datetime.fromisoformat(str(cell)) if is_text[name] else cell for name, cell in row.items()}
