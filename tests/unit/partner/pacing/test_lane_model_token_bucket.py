"""The calls that a lane let through show its rate and its size."""

import pytest

from proofsweep.model.lane import TokenBucket
from proofsweep.partner.pacing.lane_model import Cycle, fit

LANE = TokenBucket(rate=20.0, burst=10.0)


def cycle(paused: float, active: float, lane: TokenBucket = LANE) -> Cycle:
    """Make the cycle of a pause and of a time in which every token is used."""
    calls = round(min(lane.burst, lane.rate * paused) + lane.rate * active)
    return Cycle(stretches=[(paused, 0), (active, calls)])


def test_cycles_of_different_length_show_both_rate_and_size() -> None:
    """One cycle alone fits a slow lane with a large bucket, and a fast lane with a small one."""
    found = fit([cycle(1.0, 3.0), cycle(1.0, 30.0)], likely_burst=20.0)

    assert found.rate == pytest.approx(20.0, rel=0.01)
    assert found.burst == pytest.approx(10.0, abs=2.0)


def test_cycles_of_one_kind_give_the_likely_size() -> None:
    """They agree on a rate at any size."""
    found = fit([cycle(1.0, 30.0)] * 5, likely_burst=15.0)

    assert found.burst == pytest.approx(15.0, rel=0.2)


def test_calls_at_one_instant_have_a_finite_rate() -> None:
    """Two calls may go at the same moment, and the next one be refused."""
    assert fit([Cycle(stretches=[(0.0, 2)], begins_full=True)], likely_burst=4.0).rate > 0
