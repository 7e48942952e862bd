"""What a killed leg spent beyond its journal is told by the partner's figures, or by nothing."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from proofsweep.domain.unrecorded import Arrival, Figure, calls_unrecorded

DECEMBER = datetime(2026, 12, 1, tzinfo=UTC)
BEFORE = Figure(remaining=9_000, limit=10_000, reset=DECEMBER)


def found(remaining: int, *, limit: int | None = 10_000, reset: datetime | None = DECEMBER) -> Arrival:
    """Give what a successor found with its first call."""
    figure = Figure(remaining=remaining, limit=limit, reset=reset)
    return Arrival(figure=figure, calls=1, key_fingerprint="0" * 12, workers=16)


@pytest.mark.parametrize(
    ("after", "recorded", "busiest", "expected"),
    [
        (found(8_489), 500, 50, 10),  # 511 are gone: 500 written down, one the successor's own
        (found(8_499), 500, 50, 0),
        (found(8_500), 500, 50, None),  # fewer than were made: not each is charged
        (found(9_700), 500, 50, None),  # it rose
        (found(8_385), 500, 50, 114),  # ten seconds' calls, and two items in hand of each worker
        (found(8_384), 500, 50, None),  # more than a leg leaves unwritten: somebody else
        (found(8_384), 500, 51, 115),  # unless it was that fast
        (found(8_935), 0, 0, 64),  # a leg that had hardly begun
        (found(8_934), 0, 0, None),
        (found(8_489, limit=20_000), 500, 50, None),  # another plan
        (found(8_489, reset=datetime(2027, 1, 1, tzinfo=UTC)), 500, 50, None),  # begun anew in between
    ],
)
def test_what_is_missing_is_inferred_or_not_known(
    after: Arrival, recorded: int, busiest: int, expected: int | None
) -> None:
    """A figure that somebody or something else has moved tells nothing."""
    assert calls_unrecorded(BEFORE, after, recorded=recorded, throttled=0, busiest=busiest) == expected


def test_without_a_reset_nobody_knows_whether_the_quota_began_anew() -> None:
    """So nothing is inferred."""
    after = found(8_489, reset=None)

    assert calls_unrecorded(replace(BEFORE, reset=None), after, recorded=500, throttled=0, busiest=50) is None


@pytest.mark.parametrize(
    ("remaining", "expected"),
    [
        (8_489, 10),  # as if each of them had been charged
        (8_500, 29),  # one too few is gone: so they were not
        (8_529, 0),
        (8_530, None),
    ],
)
def test_whether_a_429_is_charged_is_for_the_figures_to_say(remaining: int, expected: int | None) -> None:
    """Thirty of five hundred were throttled; the contract leaves it open."""
    assert calls_unrecorded(BEFORE, found(remaining), recorded=500, throttled=30, busiest=50) == expected
