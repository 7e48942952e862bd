"""The statements are valid together, without a row on either side."""

import duckdb

from proofsweep.reporting.diff_sql import CHANGES, CLOSE_ANSWERED, OPEN_ITEMS, TABLES


def test_nothing_compared_with_nothing_is_nothing() -> None:
    """Each statement runs in the order of a comparison."""
    with duckdb.connect() as database:
        for statement in (TABLES, OPEN_ITEMS, CLOSE_ANSWERED, CHANGES):
            database.execute(statement)

        assert database.execute("SELECT change, cause FROM changes").fetchall() == []
