"""A small share of 429s costs no pace; a larger one does, up to a bound."""

import math

from proofsweep.client.refusals import Contention


def after(cycles: int, calls: int) -> Contention:
    """Return the balance after so many cycles of so many calls."""
    contention = Contention()
    for _ in range(cycles):
        for _ in range(calls):
            contention.sent()
        contention.refused(calls)
    return contention


def test_one_429_in_a_hundred_calls_costs_no_pace() -> None:
    """That is what a service may refuse at random."""
    assert after(cycles=200, calls=100).margin == 0.0


def test_more_429s_lower_the_pace_up_to_a_bound() -> None:
    """Many clients yield to each other, but one that is refused at random still works."""
    assert 0.0 < after(cycles=20, calls=20).margin < after(cycles=40, calls=20).margin
    assert math.exp(-after(cycles=1000, calls=20).margin) > 0.3


def test_calls_without_a_429_raise_it_again() -> None:
    """The others may have gone."""
    contention = after(cycles=30, calls=20)

    for _ in range(5000):
        contention.sent()

    assert contention.margin == 0.0


def test_a_share_that_is_by_chance_costs_no_pace_until_it_grows() -> None:
    """It is accepted as it is, with a little more for luck."""
    contention = after(cycles=60, calls=20)
    contention.accept(1.5 / 20)
    first = contention.margin
    for _ in range(100):
        for _ in range(20):
            contention.sent()
        contention.refused(20)
    as_before = contention.margin
    for _ in range(60):
        for _ in range(5):
            contention.sent()
        contention.refused(5)

    assert (first, as_before) == (0.0, 0.0)
    assert contention.margin > 0.5
    assert not contention.is_shared


def test_without_chance_the_usual_share_is_accepted_again() -> None:
    """Other users seem to be the cause after all."""
    contention = after(cycles=60, calls=20)
    contention.accept(0.1)
    contention.accept(None)
    for _ in range(60):
        contention.refused(20)

    assert contention.is_shared
