"""The tables' Arrow schemas, apart from their declarations so that `proofsweep check` need not load Arrow.

A schema carries the table's name, and each field its meaning under `comment`, the key that Spark and Iceberg use;
Parquet files keep them.
"""

from collections.abc import Sequence

import pyarrow as pa

from proofsweep.store import tables
from proofsweep.store.tables import TIME, Column


def _schema_of(table: str, columns: Sequence[Column]) -> pa.Schema:
    kinds = (pa.timestamp("us", "UTC") if each.kind == TIME else pa.type_for_alias(each.kind) for each in columns)  # type: ignore[call-overload]  # the stubs want literals
    fields = [
        pa.field(each.name, kind, nullable=each.nullable, metadata={"comment": each.meaning})
        for each, kind in zip(columns, kinds, strict=True)
    ]
    return pa.schema(fields).with_metadata({"proofsweep.table": table})


SCHEMAS = {name: _schema_of(name, table.columns) for name, table in tables.TABLES.items()}
"""The schemas of the tables by their names."""

ITEMS = _schema_of("planned items", tables.PLANNED_ITEMS)
LATEST = _schema_of("latest", tables.LATEST)


def conformed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table the columns of a schema, in its order: those that an older file lacks are null.

    pyarrow.ArrowException if a column has another type that cannot be converted.
    """
    if table.schema.equals(schema):
        return table.replace_schema_metadata(schema.metadata)
    there = frozenset(table.column_names)
    columns = [
        table[field.name].cast(field.type) if field.name in there else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    fields = [field if field.name in there else field.with_nullable(True) for field in schema]
    return pa.table(columns, schema=pa.schema(fields).with_metadata(schema.metadata))
