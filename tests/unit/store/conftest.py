"""Rows are tested as a reader sees them: written to Parquet and read again."""

import io
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proofsweep.domain.items import Row

ReadBack = Callable[[Row, pa.Schema], Row]


@pytest.fixture(scope="session")
def read_back() -> ReadBack:

    def written_and_read(row: Row, schema: pa.Schema) -> Row:
        file = io.BytesIO()
        pq.write_table(pa.Table.from_pylist([row], schema=schema), file)
        table = pq.read_table(file)
        assert table.schema.equals(schema)
        cells: Row = table.to_pylist()[0]
        return cells

    return written_and_read
