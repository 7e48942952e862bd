"""The row of a leg is written from its receipt."""

from collections.abc import Callable
from datetime import UTC, datetime

import pyarrow as pa

from proofsweep.domain.items import Row
from proofsweep.store.tables.runs import stored_row
from proofsweep.store.tables.schemas import SCHEMAS

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def test_a_leg_s_row_is_read_from_its_receipt(read_back: Callable[[Row, pa.Schema], Row]) -> None:
    """JSON has no instants, so a receipt holds them as text."""
    cells = dict.fromkeys(SCHEMAS["runs"].names) | {
        "run_id": "r",
        "leg": 1,
        "environment": "sandbox",
        "ended_by": "complete",
        "started_at": NOON.isoformat(),
        "items": 4,
    }

    row = read_back(stored_row(cells), SCHEMAS["runs"])

    assert (row["started_at"], row["finished_at"], row["items"]) == (NOON, None, 4)
