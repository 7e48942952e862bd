"""A round of monitoring is one line for a person."""

from datetime import UTC, datetime

from proofsweep.answers.operation_lines import line_of_round
from proofsweep.model.tables.columns import Row

WELL: Row = {"elapsed_ms": 4.6, "trouble": None, "rate_remaining": None, "rate_limit": None, "rate_reset": None}


def test_a_round_is_one_line() -> None:
    """It says what is wrong, how long it took and what is left of the quota."""
    reset = datetime(2026, 12, 1, tzinfo=UTC)
    usage = WELL | {"call": "usage", "trouble": "throttled", "rate_remaining": 1_234, "rate_limit": 10_000}

    line = line_of_round([WELL | {"call": "health"}, usage | {"rate_reset": reset}])

    assert line == ("health well, 5 ms · usage throttled, 5 ms, 1,234 of 10,000 calls left until 2026-12-01 00:00 UTC")
    assert line_of_round([usage | {"rate_limit": None}]) == "usage throttled, 5 ms, 1,234 calls left"
