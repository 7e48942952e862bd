"""Each value that SQL knows can be shown, and written as JSON."""

import json
from collections.abc import Iterator

import duckdb
import pytest

from proofsweep.domain.text import printable_json
from proofsweep.queries.plain_values import plain_answer

VALUES = [
    ("INTERVAL 3 DAY + INTERVAL 2 HOUR", "3 days 02:00:00"),
    ("INTERVAL 14 MONTH", "1 year 2 months"),
    ("1 / 0", None),
    ("'nan'::FLOAT", None),
    ("{'rates': [0 / 0, 0.5::DOUBLE]}", {"rates": [None, 0.5]}),
    ("1.50", 1.5),
    ("sum(3)", 3),
    ("170141183460469231731687303715884105727", 170141183460469231731687303715884105727),
    ("'\\x00A'::BLOB", "\\x00A"),
    ("DATE '2026-11-20'", "2026-11-20"),
    ("DATE '10000-01-01'", "10000-01-01"),
    ("'infinity'::DATE", "infinity"),
    ("[DATE '10000-01-01']", ["10000-01-01"]),
    ("TIMESTAMP '20000-01-01 10:00:00'", "20000-01-01 10:00:00"),
    ("TIMESTAMPTZ '2026-11-20 10:00:00+01'", "2026-11-20T09:00:00+00:00"),
    ("TIMESTAMP '2026-11-20 10:00:00.5'", "2026-11-20T10:00:00.500000"),
    ("TIMESTAMP_NS '2026-11-20 10:00:00.123456789'", "2026-11-20T10:00:00.123456789"),
    ("TIME '24:00:00'", "24:00:00"),
    ("MAP {[1]: INTERVAL 1 DAY}", {"[1]": "1 day"}),
    ("{'a \"b\"': DATE '10000-01-01'}", {'a "b"': "10000-01-01"}),
    ("'6f4f5a66-4a6e-4d3b-8f4e-0f6a5c0f4a11'::UUID", "6f4f5a66-4a6e-4d3b-8f4e-0f6a5c0f4a11"),
    ("'a'::ENUM ('a')", "a"),
    ("'101'::BIT", "101"),
    ("1 = 1", True),
    ("repeat('9', 5000)::BIGNUM", "9" * 5000),
    ("NULL", None),
]


@pytest.fixture
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        yield database


@pytest.mark.parametrize(("expression", "value"), VALUES)
def test_a_value_is_plain(database: duckdb.DuckDBPyConnection, expression: str, value: object) -> None:
    """No value is the name of a class of Python, an error, or no JSON."""
    answer = plain_answer(database.sql(f"SELECT {expression} AS asked"))

    [(given,)] = answer.rows

    assert json.loads(printable_json(given)) == value


def test_rows_keep_their_order_and_names(database: duckdb.DuckDBPyConnection) -> None:
    """Two columns may have one name; an object has a key for each."""
    query = "SELECT n AS a, INTERVAL (n) DAY AS a, n AS a_1 FROM range(30_000) AS t(n) ORDER BY n DESC"
    answer = plain_answer(database.sql(query))

    numbers = [row[0] for row in answer.rows]

    assert numbers == sorted(range(30_000), reverse=True)
    assert answer.names == ["a", "a", "a_1"]
    assert len(set(answer.keys)) == 3
