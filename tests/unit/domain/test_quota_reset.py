"""When the key's quota resets, and when a run begins after that."""

from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.domain.runs import seconds_after_reset
from proofsweep.domain.text import reset_clause

NOW = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.mark.parametrize("reset", [None, NOW, NOW - timedelta(days=1)])
def test_a_reset_that_is_past_or_missing_says_nothing(reset: datetime | None) -> None:
    """A reset time in the past is stale."""
    assert reset_clause(reset, NOW) == "its reset time is not known"
    assert reset_clause(NOW + timedelta(days=11), NOW) == "it resets 2026-12-01 00:00 UTC"


@pytest.mark.parametrize(
    ("passed_seconds", "wait_seconds"),
    [(None, 0.0), (-1, 0.0), (0, 2.0), (59, 2.0), (60, 0.0), (86_400, 0.0)],
)
def test_a_run_right_after_a_reset_waits_a_moment(passed_seconds: int | None, wait_seconds: float) -> None:
    """Many runs may have waited for the reset; each draws its own wait of at most five seconds."""
    reset = None if passed_seconds is None else NOW - timedelta(seconds=passed_seconds)

    assert seconds_after_reset(reset, NOW, 0.4) == wait_seconds
    assert seconds_after_reset(reset, NOW, 0.0) == 0.0
