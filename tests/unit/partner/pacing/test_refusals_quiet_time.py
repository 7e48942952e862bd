"""A quiet time is long where a 429 would cost much, and short where little is known."""

import pytest

from proofsweep.partner.pacing.refusals import FIRST_QUIET_SECONDS, quiet_seconds


def seconds(
    rate: float = 20.0,
    pause: float = 1.0,
    usual_calls: float | None = 10_000.0,
    *,
    is_narrow: bool = False,
    calm_cycles: int = 10,
) -> float:
    """Return the quiet time of a known lane."""
    return quiet_seconds(rate, pause, usual_calls, is_narrow=is_narrow, calm_cycles=calm_cycles)


def test_a_new_lane_is_tried_soon_and_then_less_often() -> None:
    """Each calm cycle doubles the time."""
    assert [seconds(calm_cycles=number) for number in range(4)] == [FIRST_QUIET_SECONDS * 2**n for n in range(4)]


@pytest.mark.parametrize(("rate", "pause", "expected"), [(20.0, 1.0, 45.0), (4.0, 1.0, 100.0), (20.0, 4.0, 100.0)])
def test_the_longest_of_three_counts(rate: float, pause: float, expected: float) -> None:
    """A share of 429s is one of the calls, and a pause costs time."""
    assert seconds(rate, pause) == expected


def test_it_has_an_upper_bound() -> None:
    """A lane that became wider must be noticed some time."""
    assert seconds(rate=0.1) == 240.0


def test_a_narrow_lane_is_tried_more_often() -> None:
    """It was wider, and may be again."""
    assert seconds(is_narrow=True) == 9.0


def test_frequent_429s_make_it_short_unless_others_are_disturbed() -> None:
    """Where 429s come anyway, one more costs little; in a shared lane it costs the others too."""
    assert seconds(usual_calls=120.0) == 12.0
    assert seconds(usual_calls=None) == 45.0
