"""The tables under the views are read by their schema, whatever the files hold."""

from datetime import date

import pyarrow as pa

from proofsweep.domain.tables import schemas
from proofsweep.query.connection import opened
from proofsweep.storage.results.plans_and_parts import Results, parquet_of

from .nights import ACCEPTED, MONDAY, TUESDAY, night


def test_a_column_that_older_parts_lack_is_null(results: Results) -> None:
    """Wherever the newer parts are, and for tables of which there are older parts only."""
    night(results, MONDAY, {"a": ACCEPTED})
    night(results, TUESDAY, {"b": ACCEPTED})
    (monday,) = (name for name in results.all_parts("verdicts") if MONDAY in name)
    older = results.table("verdicts", [monday]).drop_columns(["relative_path", "sidecar_version"])
    results.store.replace(monday, parquet_of(older))
    for name in results.all_parts("runs"):
        results.store.replace(name, parquet_of(results.table("runs", [name]).drop_columns(["sunset", "skipped"])))

    with opened(results) as store:
        query = "SELECT run_date, item_id, relative_path FROM verdicts ORDER BY run_date"
        rows = store.connection.execute(query).fetchall()
        legs = store.connection.execute("SELECT sunset, skipped FROM runs").fetchall()

    assert rows == [(date(2026, 11, 16), "a", None), (date(2026, 11, 17), "b", "b")]
    assert legs == [(None, None)] * 2


def test_the_tables_have_their_types_and_an_empty_one_too(results: Results) -> None:
    """What reads them through DuckDB gets the types that the files have."""
    night(results, MONDAY, {"a": ACCEPTED})

    with opened(results) as store:
        found = {table: store.connection.sql(f"FROM {table}").to_arrow_table() for table in ("verdicts", "ingest")}

    for table, schema in (("verdicts", schemas.VERDICTS), ("ingest", schemas.INGEST)):
        assert found[table].schema.names == [*schema.names, "run_date"]
        types = [field.type for field in found[table].schema][:-1]
        assert types == [field.type for field in schema]
    assert found["ingest"].schema.field("run_date").type == pa.date32()
