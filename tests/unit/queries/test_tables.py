"""The tables under the views are read by their schema, whatever the files hold."""

from datetime import date
from pathlib import Path

import duckdb
import pyarrow as pa

from proofsweep.queries.connection import opened
from proofsweep.queries.tables import script_of
from proofsweep.queries.views import views
from proofsweep.store.parts import Results, parquet_of
from proofsweep.store.schemas import SCHEMAS

from ...worlds.ended_nights import ACCEPTED, MONDAY, REJECTED, TUESDAY, night


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


def test_hidden_files_are_no_parts(results: Results) -> None:
    """A copying tool leaves a draft, and a file manager its own file, beside a part; the script ignores them too."""
    night(results, MONDAY, {"a": ACCEPTED})
    (part,) = map(Path(results.store.url).joinpath, results.all_parts("verdicts"))
    part.with_name(f".{part.name}").write_bytes(part.read_bytes())
    part.with_name(f"._{part.name}").write_bytes(b"no Parquet")

    with opened(results) as store, duckdb.connect() as own:
        own.execute(script_of(results, store.environments, views()))
        counts = [each.execute("SELECT count(*) FROM verdicts").fetchall() for each in (store.connection, own)]

    assert counts == [[(1,)], [(1,)]]


def test_the_tables_have_their_types_and_an_empty_one_too(results: Results) -> None:
    """What reads them through DuckDB gets the types that the files have."""
    night(results, MONDAY, {"a": ACCEPTED})

    with opened(results) as store:
        found = {table: store.connection.sql(f"FROM {table}").to_arrow_table() for table in ("verdicts", "ingest")}

    for table, schema in (("verdicts", SCHEMAS["verdicts"]), ("ingest", SCHEMAS["ingest"])):
        assert found[table].schema.names == [*schema.names, "run_date"]
        types = [field.type for field in found[table].schema][:-1]
        assert types == [field.type for field in schema]
    assert found["ingest"].schema.field("run_date").type == pa.date32()


def test_a_question_about_one_run_opens_only_the_files_that_it_needs(results: Results) -> None:
    """Here that of another night could not be read."""
    nights = [f"202610{day:02}T020000Z_000aaaaaa" for day in range(1, 21)]
    for each in nights:
        night(results, each, {"a": ACCEPTED if each < nights[-1] else REJECTED}, is_noted=True)
    (tenth,) = (name for name in results.all_parts("verdicts") if nights[9] in name)

    with opened(results) as store:
        results.store.replace(tenth, b"no Parquet")
        rows = [
            store.connection.table(view).filter(f"run_id = '{nights[-1]}'").select("item_id").fetchall()
            for view in ("verdicts", "latest_answer")
        ]

    assert rows == [[("a",)]] * 2
