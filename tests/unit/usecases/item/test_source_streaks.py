"""Files that cannot be read are to blame, or their bucket is."""

import pytest

from proofsweep.usecases.item.source_streaks import Blame, SourceStreak


@pytest.mark.parametrize(
    ("files", "is_away", "seconds", "blame"),
    [
        (1, False, 0.0, Blame.NOBODY_YET),
        (99, True, 19.9, Blame.NOBODY_YET),
        (1, False, 20.0, Blame.FILE),
        (9, False, 20.0, Blame.FILE),
        (10, False, 20.0, Blame.SOURCE),
        (1, True, 20.0, Blame.SOURCE),
    ],
)
def test_after_some_patience_a_few_are_to_blame_and_many_are_not(
    files: int, seconds: float, blame: Blame, *, is_away: bool
) -> None:
    """And never one at a time when a file that was read before cannot be read either."""
    streak = SourceStreak(100.0, {str(number) for number in range(files)}, is_away)

    assert streak.blame(100.0 + seconds, threshold=10, patience_seconds=20.0) is blame
