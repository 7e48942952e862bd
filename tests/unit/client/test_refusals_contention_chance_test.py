"""Several groups of calls tell whether chance refuses calls, or others who use the lane."""

import pytest

from proofsweep.client.refusals import ChanceTest


def send_group(test: ChanceTest, at: float, *, pace: float = 4.0, delay: float = 0.0) -> list[float]:
    """Send calls until the long gap after a group, and give their times; one call if they go alone."""
    times, gap = [at], test.gap_seconds(at, 1 / pace)
    while gap < 0.5 / pace:
        times.append(times[-1] + gap + delay)
        gap = test.gap_seconds(times[-1], 1 / pace)
    return times


def refuse(test: ChanceTest, at: float, *, times_refused: int) -> None:
    """Send a group of which so many calls are refused, the first ones."""
    first, *others = send_group(test, at)
    test.refused(first, first + 0.04)
    for other in others[: times_refused - 1]:
        test.refused_too(other)


def test_single_429s_in_groups_prove_chance() -> None:
    """An empty bucket would have refused the next call of one of them."""
    test, groups = ChanceTest(), 0

    while not test.is_proven:
        refuse(test, 10.0 * groups, times_refused=1)
        groups += 1

    assert 3 <= groups <= 6


def test_groups_that_are_refused_end_the_test_for_a_while() -> None:
    """They cost the other users calls."""
    test = ChanceTest()
    for group in range(3):
        refuse(test, 10.0 * group, times_refused=2)
    rest = 0
    while len(send_group(test, 100.0 + rest)) == 1:
        test.refused(-1.0, -0.9)
        rest += 1

    assert rest > 15
    assert not test.is_proven


def test_a_429_to_the_last_call_of_a_group_shows_nothing() -> None:
    """No call followed it at once."""
    test = ChanceTest()
    for group in range(40):
        last = send_group(test, 10.0 * group)[-1]
        test.refused(last, last + 0.04)

    assert not test.is_proven


def test_a_group_that_took_long_shows_nothing() -> None:
    """On a busy machine the bucket refills between two calls."""
    test = ChanceTest()
    for group in range(40):
        first = send_group(test, 10.0 * group, delay=0.1)[0]
        test.refused(first, first + 0.04)

    assert not test.has_begun
    assert not test.is_proven


@pytest.mark.parametrize(("pace", "size"), [(0.5, 2), (2.0, 2), (4.0, 4), (40.0, 4)])
def test_groups_are_small_where_the_lane_is_slow(pace: float, size: int) -> None:
    """They must find their tokens in a bucket of a second; the pace stays as it is."""
    test = ChanceTest()
    gaps = [test.gap_seconds(0.001 * number, 1 / pace) for number in range(12)]

    assert gaps.count(min(gaps)) == 12 - 12 // size
    assert sum(gaps) == pytest.approx(12 / pace)


def test_a_near_service_stops_no_group() -> None:
    """Its 429 would come before the next call is sent."""
    test = ChanceTest()
    test.refused(0.0, 0.002)

    first, second, *_ = send_group(test, 10.0)

    assert second - first == pytest.approx(0.0005)


def test_the_share_of_429s_is_counted_since_the_test_began() -> None:
    """So large a share is then accepted."""
    test = ChanceTest()
    for group in range(5):
        refuse(test, 10.0 * group, times_refused=1)

    assert test.share == 5 / 20

    test.reject()
    assert test.share == 0.0
