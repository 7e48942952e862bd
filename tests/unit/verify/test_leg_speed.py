"""The speed of a leg is that of the lowest limit that is known."""

from dataclasses import replace

import pytest

from proofsweep.verify.forecast import Bind, LegSpeed, Means, Measurement, speed_of

LEG = Measurement(rows=100, seconds=50.0, calls=202)


def test_a_rate_that_nobody_knows_is_searched_for() -> None:
    """The pace doubles from six calls a second, every second and a half, until something else bounds it."""
    speed = LegSpeed(limits={}, first_rate=6.0, around_seconds=0.0)
    bound = replace(speed, limits={Bind.THREADS: 12.0})

    assert speed.seconds_for(3) == pytest.approx(0.82, abs=0.01)
    assert speed.seconds_for(1_000) == pytest.approx(10.9, abs=0.1)
    assert (speed.binds, bound.binds) == (Bind.ANSWERS, Bind.THREADS)
    assert bound.seconds_for(1_200) - bound.seconds_for(600) == pytest.approx(50.0)
    assert bound.seconds_for(1_200) == pytest.approx(101.4, abs=0.1)


@pytest.mark.parametrize(
    ("rates", "known", "lane"),
    [
        ([None], None, None),
        ([None], 25.0, 12.5),
        ([20.0], 25.0, 10.0),  # what a short leg learned holds its burst too
        ([14.0, 20.0], 25.0, 10.0),
        ([20.0], 8.0, 4.0),  # the lane is narrower since
        ([20.0], None, 10.0),
    ],
)
def test_the_lane_is_what_was_learned_and_not_more_than_was_seen(
    rates: list[float | None], known: float | None, lane: float | None
) -> None:
    """Between two refusals, at most, in any of the legs."""
    speed = speed_of(0.0, [replace(LEG, let_through=rate) for rate in rates], Means(rate=known))

    assert speed is not None
    assert speed.limits.get(Bind.LANE) == lane
    assert (speed.first_rate is None) == (lane is not None)
