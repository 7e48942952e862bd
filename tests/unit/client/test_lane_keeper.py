"""The rate of a lane that several processes share."""

from proofsweep.client.rate_share import LaneKeeper


def kept(keeper: LaneKeeper, lane: float, seconds: int, start: int = 0) -> int:
    """Let all send at the pace for so long, in a lane with a bucket of ten; return how many looks saw a 429."""
    tokens, refused = 0.0, 0
    for second in range(start, start + seconds):
        wanted = tokens + lane - keeper.pace
        is_refused, tokens = wanted < 0, max(0.0, min(10.0, wanted))
        refused += is_refused
        keeper.look(float(second), min(keeper.pace, lane + tokens), is_refused=is_refused)
    return refused


def test_a_pace_that_is_too_fast_becomes_the_rate_and_is_refused_rarely() -> None:
    """What is let in while the bucket is empty is the rate."""
    keeper = LaneKeeper(30.0)
    keeper.look(0.0, 0.0, is_refused=False)
    kept(keeper, 20.0, 120, start=1)

    assert kept(keeper, 20.0, 600, start=121) < 40
    assert 18.5 < keeper.rate < 21.0


def test_a_pace_that_is_too_slow_grows() -> None:
    """If no 429 comes."""
    keeper = LaneKeeper(5.0)

    kept(keeper, 20.0, 200)

    assert keeper.pace > 17.0


def test_a_pace_that_nobody_uses_does_not_grow() -> None:
    """What is not tried shows nothing."""
    keeper = LaneKeeper(20.0)
    for second in range(600):
        keeper.look(float(second), 3.0, is_refused=False)

    assert keeper.pace < 20.5


def test_a_lane_that_became_narrower_is_followed() -> None:
    """Within half a minute."""
    keeper = LaneKeeper(20.0)
    kept(keeper, 20.0, 100)

    kept(keeper, 5.0, 30, start=100)

    assert keeper.pace < 6.5
