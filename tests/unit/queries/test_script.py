"""The views as a script give any DuckDB what `proofsweep query` gives."""

import duckdb

from proofsweep.queries.connection import opened
from proofsweep.queries.tables import script_of
from proofsweep.queries.views import NAMES, views
from proofsweep.store.parts import Results

from ...worlds.ended_nights import ACCEPTED, FAILED, MONDAY, REJECTED, TUESDAY, night


def test_the_script_gives_what_the_program_gives(results: Results) -> None:
    """Column by column and row by row, also of tables without any part."""
    tagged = REJECTED | {"tags": '{"supplier": "it\'s North"}'}
    night(results, MONDAY, {"a": ACCEPTED, "b": tagged, "c": ACCEPTED})
    night(results, TUESDAY, {"a": FAILED, "b": tagged, "d": REJECTED}, environment="beta")

    with opened(results) as store, duckdb.connect() as own:
        own.execute("SET TimeZone = 'UTC'")
        own.execute(script_of(results, store.environments, views(store.tags)))
        for view in NAMES:
            ours, theirs = (each.execute(f"FROM {view} ORDER BY ALL") for each in (store.connection, own))
            assert [each[0] for each in theirs.description] == [each[0] for each in ours.description]
            assert theirs.fetchall() == ours.fetchall(), view
