"""What a lane let through tells its rate and its size."""

import pytest

from proofsweep.client.pacing.token_bucket import Cycle, TokenBucket, fit

LANE = TokenBucket(rate=20.0, burst=10.0)


def cycle(paused: float, active: float, lane: TokenBucket = LANE) -> Cycle:
    """Make what the lane lets through in a pause and in a time after it that uses all of it up."""
    calls = round(min(lane.burst, lane.rate * paused) + lane.rate * active)
    return Cycle(stretches=[(paused, 0), (active, calls)])


def test_cycles_of_different_length_tell_the_rate_and_the_size_apart() -> None:
    """One cycle alone would fit a slow lane that holds much as well as a quick one that holds little."""
    found = fit([cycle(1.0, 3.0), cycle(1.0, 30.0)], likely_burst=20.0)

    assert found.rate == pytest.approx(20.0, rel=0.01)
    assert found.burst == pytest.approx(10.0, abs=2.0)


def test_a_bucket_that_holds_all_that_a_pause_brings_loses_nothing() -> None:
    """Then all calls, by all the time, are the rate."""
    ample = TokenBucket(rate=20.0, burst=40.0)

    assert cycle(1.0, 9.0, ample).rate(burst=40.0) == pytest.approx(20.0, rel=0.01)


def test_cycles_that_are_all_alike_leave_the_size_as_it_is_likely() -> None:
    """They agree on some rate at any size."""
    found = fit([cycle(1.0, 30.0)] * 5, likely_burst=15.0)

    assert found.burst == pytest.approx(15.0, rel=0.2)


def test_a_lane_that_was_never_throttled_begins_full() -> None:
    """What a search lets through before the first 429 holds the whole bucket."""
    search = Cycle(stretches=[(1.0, 20), (0.5, 19)], begins_full=True)

    assert search.rate(burst=10.0) == pytest.approx(20.0, rel=0.01)


def test_no_cycle_admits_more_than_the_rate_gives() -> None:
    """However large the bucket, what came out since it was empty went in since."""
    assert cycle(1.0, 3.0).rate(burst=1e6) == pytest.approx((10 + 60) / 4, rel=0.01)


def test_an_hour_without_a_call_does_not_lower_the_rate() -> None:
    """What a full bucket could not hold is lost, and tells nothing."""
    idle = Cycle(stretches=[(3_600.0, 0), (30.0, 610)])

    assert idle.rate(burst=10.0) == pytest.approx(20.0, rel=0.01)


def test_calls_at_one_instant_can_be_told() -> None:
    """Two calls may go at the same moment of the clock, and the next be refused."""
    assert fit([Cycle(stretches=[(0.0, 2)], begins_full=True)], likely_burst=4.0).rate > 0
