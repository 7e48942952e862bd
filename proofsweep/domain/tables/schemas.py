"""The tables' Arrow schemas; the only module of the domain that imports Arrow.

It is apart from the declarations, so that `proofsweep check` need not load Arrow.
"""

from collections.abc import Sequence

import pyarrow as pa

from proofsweep.domain.tables import exchanges, ingest, planned_items, runs, snapshot, verdicts
from proofsweep.domain.tables.columns import BYTES, FLAG, INT, REAL, SMALL, STATUS, TEXT, TIME, Column

_KINDS: dict[str, pa.DataType] = {
    TEXT: pa.string(),
    INT: pa.int64(),
    SMALL: pa.int32(),
    STATUS: pa.int16(),
    REAL: pa.float64(),
    FLAG: pa.bool_(),
    TIME: pa.timestamp("us", tz="UTC"),
    BYTES: pa.binary(),
}


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    """Give the Arrow schema of a table."""
    return pa.schema([pa.field(column.name, _KINDS[column.kind], nullable=column.nullable) for column in columns])


VERDICTS = schema_of(verdicts.COLUMNS)
EXCHANGES = schema_of(exchanges.COLUMNS)
RUNS = schema_of(runs.COLUMNS)
INGEST = schema_of(ingest.COLUMNS)
ITEMS = schema_of(planned_items.COLUMNS)
SNAPSHOT = schema_of(snapshot.COLUMNS)
