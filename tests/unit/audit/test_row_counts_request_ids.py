"""A request ID counts as recorded only for its own row and call."""

import pyarrow as pa
import pytest

from proofsweep.audit.row_counts import RequestIds
from proofsweep.model.tables.schemas import SCHEMAS

ROWS = [
    {"manifest_row": 0, "uploads_request_id": "u0", "verify_request_id": "v0"},
    {"manifest_row": 1, "answered_by_row": 0, "uploads_request_id": "u0", "verify_request_id": "v0"},
    {"manifest_row": 2},
]
EXCHANGES = [("uploads", 0, "u0"), ("verify", 0, "v0"), ("slot", 0, "s0"), ("usage", None, "x")]


def missing(exchanges: list[tuple[str, int | None, str]]) -> int:
    """Count what is not in these exchanges, which come in parts of one row."""
    found = RequestIds()
    found.add(pa.Table.from_pylist(ROWS, schema=SCHEMAS["verdicts"]))
    for call, row, request_id in exchanges:
        cells = {"call": call, "manifest_row": row, "request_id": request_id}
        found.find_in(pa.Table.from_pylist([cells], schema=SCHEMAS["exchanges"]))
    return found.missing()


@pytest.mark.parametrize(
    ("exchanges", "count"),
    [
        (EXCHANGES, 0),
        (EXCHANGES[1:], 1),
        ([], 2),
        ([("uploads", 0, "v0"), ("verify", 0, "u0")], 2),
        ([("uploads", 0, "u0"), ("verify", 2, "v0")], 1),
    ],
)
def test_each_named_request_id_is_looked_for(exchanges: list[tuple[str, int | None, str]], count: int) -> None:
    """A row that uses another's answer names that row's exchanges; null names nothing."""
    assert missing(exchanges) == count
