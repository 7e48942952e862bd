"""What the cycles of a lane teach about its bucket."""

from dataclasses import replace

import pytest

from proofsweep.client.lane_model import Circumstances, Cycle, LaneModel, RateChange, TokenBucket

REGULAR = Circumstances(
    is_first=False,
    is_narrower=False,
    is_shared=False,
    is_overdue=False,
    is_short=False,
    pace=20.0,
    level=0.0,
    slack=-0.5,
)


def cycle(rate: float, seconds: float = 30.0, pause: float = 1.0) -> Cycle:
    """Make a cycle in which each token was used."""
    return Cycle(stretches=[(pause, 0), (seconds, round(rate * (seconds + pause)))])


def known(rate: float = 20.0) -> LaneModel:
    """Make a model that has seen some regular cycles."""
    model = LaneModel(TokenBucket(rate, rate))
    for _ in range(4):
        model.learn(cycle(rate), REGULAR)
    return model


def test_a_wider_lane_is_believed_at_once() -> None:
    """What was let through is proof of a rate."""
    model = known()

    assert model.learn(cycle(40.0), REGULAR) is RateChange.WIDER
    assert model.bucket.rate == pytest.approx(40.0, rel=0.05)


def test_a_narrower_lane_is_new_but_its_width_is_remembered() -> None:
    """It may be wide again, so it is tried more often."""
    model = known()

    assert model.learn(cycle(5.0), replace(REGULAR, is_narrower=True)) is RateChange.NARROWER
    assert model.bucket.rate == pytest.approx(5.0, rel=0.05)
    assert (model.calm_cycles, model.widest) == (0, pytest.approx(20.0, rel=0.05))


def test_a_cycle_of_few_calls_halves_the_rate_at_most() -> None:
    """One call more or less would mean quite another rate."""
    model = LaneModel(TokenBucket(20.0, 20.0))

    model.learn(Cycle(stretches=[(30.0, 2)]), REGULAR)

    assert model.bucket.rate == 10.0


def test_a_lane_that_gave_more_is_not_calm_unless_it_is_shared() -> None:
    """In a shared lane another user has gone, and more is no news."""
    alone, shared = known(), known()

    alone.learn(cycle(20.0), replace(REGULAR, level=-30.0))
    shared.learn(cycle(20.0), replace(REGULAR, level=-30.0, is_shared=True))

    assert (alone.calm_cycles, shared.calm_cycles) == (2, 5)
