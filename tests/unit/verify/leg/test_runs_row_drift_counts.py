"""What the contract does not name is counted by call, kind and name."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa

from proofsweep.model.tables.schemas import SCHEMAS
from proofsweep.verify.leg.runs_row import DriftCounts

from ...ended_runs import plan_of_run

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def exchanges(*told: tuple[int, str, str | None]) -> pa.Table:
    """Make rows of `exchanges`: second, call, and what is not named."""
    rows = [
        {"run_id": "r", "leg": 1, "call": call, "attempt": 1, "elapsed_ms": 1.0, "unnamed": unnamed}
        | {"started_at": NOON + timedelta(seconds=second), "request_id": f"id {second}"}
        for second, call, unnamed in told
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMAS["exchanges"])


def test_each_name_has_its_count_and_its_first_request() -> None:
    """Over all parts, in whatever order they come."""
    counts, both = DriftCounts(), '["field:a", "verdict:x"]'
    later = exchanges((5, "verify", both), (4, "verify", '["field:a"]'), (6, "uploads", '["field:a"]'))
    tables = [later, exchanges((1, "verify", None), (2, "verify", '["field:a"]')), exchanges()]

    passed = list(counts.watch(tables))

    rows = counts.rows(plan_of_run("20261120T120000Z_000aaaaaa", 1), 2)
    found = [(row["call"], row["kind"], row["name"], row["answers"], row["first_request_id"]) for row in rows]
    assert passed == tables
    assert found == [
        ("uploads", "field", "a", 1, "id 6"),
        ("verify", "field", "a", 3, "id 2"),
        ("verify", "verdict", "x", 1, "id 5"),
    ]
    assert pa.Table.from_pylist(rows, schema=SCHEMAS["drift"]).num_rows == 3


def test_a_service_that_invents_names_does_not_fill_the_memory() -> None:
    """A thousand are kept."""
    counts = DriftCounts()

    list(counts.watch([exchanges(*((number, "verify", f'["field:{number}"]') for number in range(1_200)))]))

    assert len(counts.rows(plan_of_run("20261120T120000Z_000aaaaaa", 1), 1)) == 1_000
