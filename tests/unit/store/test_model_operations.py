"""An operation is written down and read again, and its calls are counted as the service counts them."""

from datetime import UTC, datetime

from proofsweep.domain.exchanges import Call
from proofsweep.domain.operations import CallCounts

LATE = datetime(2026, 11, 20, 23, 59, 59, tzinfo=UTC)


def test_keyed_calls_are_counted_by_day() -> None:
    """A call without a connection costs nothing; health is not keyed, and a 429 is charged."""
    counts = CallCounts()

    for call, status, sent in (
        (Call.PROOF, 200, 0),
        (Call.PROOF, 429, 0),
        (Call.PROOF, None, None),
        (Call.HEALTH, 200, 0),
        (Call.SLOT, 429, 7),
    ):
        counts.add(call, status, sent, LATE)
    counts.add(Call.USAGE, 200, 0, LATE.replace(day=21))

    assert counts.document() == {
        "calls": 3,
        "calls_by_day": {"2026-11-20": 2, "2026-11-21": 1},
        "throttled": 1,
        "bytes_sent": 7,
    }
