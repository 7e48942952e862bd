"""The number of calls in flight tells a concurrency limit from a rate."""

import math

from proofsweep.client.in_flight import ConcurrencyLimit


def refuse(limit: ConcurrencyLimit, in_flight: int, *times: float) -> list[bool]:
    """Refuse a call at each time, after others with fewer in flight have gone through."""
    explained = []
    for time in times:
        for _ in range(in_flight - 1):
            limit.was_admitted(in_flight - 1)
        explained.append(limit.was_refused(in_flight, time))
    return explained


def test_refusals_beyond_one_number_show_a_limit() -> None:
    """Eight at once always went through, nine almost never."""
    limit = ConcurrencyLimit()
    for _ in range(100):
        limit.was_admitted(8)

    explained = refuse(limit, 9, 0.0, 2.0, 4.0)

    assert explained == [False, False, True]
    assert limit.most == 8


def test_a_small_limit_shows_although_single_calls_overtook_others() -> None:
    """Calls that left in one instant arrive in any order, so one with a higher number may go through."""
    limit = ConcurrencyLimit()
    limit.was_admitted(6)

    explained = refuse(limit, 4, 0.0, 2.0, 4.0)

    assert explained == [False, False, True]
    assert limit.most == 3


def test_a_first_volley_whose_calls_overtook_each_other_hides_no_limit() -> None:
    """The call that left first, alone, can arrive last and be refused."""
    limit = ConcurrencyLimit()
    for in_flight in (1, 7, 4, 2, 5):
        limit.was_refused(in_flight, 0.0)

    explained = refuse(limit, 4, 2.0, 4.0, 6.0)

    assert explained == [False, False, True]
    assert limit.most == 3


def test_a_larger_limit_needs_more_bursts_then() -> None:
    """A rate too may refuse the same large number three times."""
    limit = ConcurrencyLimit()
    limit.was_admitted(12)

    explained = refuse(limit, 10, 0.0, 2.0, 4.0, 6.0)

    assert explained == [False, False, False, True]


def test_one_burst_is_not_enough() -> None:
    """When a search overshoots, many calls are refused at once, with more in flight than ever before."""
    limit = ConcurrencyLimit()

    refuse(limit, 50, *(0.01 * number for number in range(30)))

    assert limit.most == math.inf


def test_calls_that_leave_together_show_none() -> None:
    """A pace far above the rate is refused at one number too, before any of those calls is answered."""
    limit = ConcurrencyLimit()

    explained = [limit.was_refused(6, 2.0 * number) for number in range(9)]

    assert not any(explained)
    assert limit.most == math.inf


def test_the_order_in_which_a_burst_arrives_shows_nothing() -> None:
    """Calls that leave in one instant arrive in any order."""
    limit = ConcurrencyLimit()
    for time in (0.0, 2.0, 4.0):
        refuse(limit, 9, time)
        limit.was_refused(3, time + 0.01)

    assert limit.most == 8


def test_a_limit_is_tested_every_few_minutes() -> None:
    """With one call more, since it may have been lifted."""
    limit = ConcurrencyLimit()
    refuse(limit, 9, 0.0, 2.0, 4.0)

    assert (limit.allowed(5.0), limit.allowed(300.0)) == (8, 9)

    refuse(limit, 9, 300.0)
    assert (limit.most, limit.allowed(301.0)) == (8, 8)


def test_a_limit_that_was_lifted_grows() -> None:
    """Calls beyond it go through."""
    limit = ConcurrencyLimit()
    refuse(limit, 9, 0.0, 2.0, 4.0)

    for _ in range(40):
        limit.was_admitted(9)

    assert limit.most == 9


def test_a_limit_that_shrinks_is_followed() -> None:
    """Calls below it are refused, and almost none goes through."""
    limit = ConcurrencyLimit()
    refuse(limit, 9, 0.0, 2.0, 4.0)

    refuse(limit, 6, 10.0, 12.0, 14.0)

    assert limit.most == 5


def test_one_or_two_calls_at_a_time_are_never_a_limit() -> None:
    """Any rate refuses calls at these numbers too."""
    for in_flight in (1, 2):
        limit = ConcurrencyLimit()

        refuse(limit, in_flight, *(2.0 * number for number in range(9)))

        assert limit.most == math.inf


def test_hours_of_a_rate_do_not_add_up_to_a_limit() -> None:
    """Old counts fade."""
    limit = ConcurrencyLimit()

    for hour_part in range(1000):
        for number in range(1, 30):
            for _ in range(10):
                limit.was_admitted(number)
        refuse(limit, 5 + hour_part % 20, 40.0 * hour_part)

    assert limit.most == math.inf
