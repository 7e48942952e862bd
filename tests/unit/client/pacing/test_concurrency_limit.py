"""A cap on calls at once is told apart from a rate by what is in flight."""

import math

from proofsweep.client.pacing.concurrency_limit import ConcurrencyLimit


def refuse(cap: ConcurrencyLimit, in_flight: int, *times: float) -> list[bool]:
    """Refuse a call at each time."""
    return [cap.was_refused(in_flight, time) for time in times]


def test_refusals_beyond_one_number_are_a_cap() -> None:
    """Eight at once went through all the time, nine hardly ever."""
    cap = ConcurrencyLimit()
    for _ in range(100):
        cap.was_admitted(8)

    told = refuse(cap, 9, 0.0, 2.0, 4.0)

    assert told == [False, False, True]
    assert cap.most == 8


def test_refusals_among_many_that_went_through_are_no_cap() -> None:
    """A rate refuses at any number in flight."""
    cap = ConcurrencyLimit()
    for number in range(1, 40):
        for _ in range(60):
            cap.was_admitted(number)

    told = refuse(cap, 9, *(2.0 * number for number in range(20)))

    assert not any(told)
    assert cap.most == math.inf


def test_one_volley_is_not_enough() -> None:
    """When a search overshoots, many calls are refused at once, with more in flight than ever before."""
    cap = ConcurrencyLimit()

    refuse(cap, 50, *(0.01 * number for number in range(30)))

    assert cap.most == math.inf


def test_a_cap_is_tried_now_and_then() -> None:
    """One call more, minutes apart: a cap may have been lifted."""
    cap = ConcurrencyLimit()
    refuse(cap, 9, 0.0, 2.0, 4.0)

    assert (cap.limit(5.0), cap.limit(300.0)) == (8, 9)

    refuse(cap, 9, 300.0)
    assert (cap.most, cap.limit(301.0)) == (8, 8)


def test_a_cap_that_was_lifted_is_left_behind() -> None:
    """Calls beyond it go through."""
    cap = ConcurrencyLimit()
    refuse(cap, 9, 0.0, 2.0, 4.0)

    for _ in range(40):
        cap.was_admitted(9)

    assert cap.most == 9


def test_a_cap_that_shrinks_is_followed() -> None:
    """Refusals below it, and hardly a call that goes through there any more."""
    cap = ConcurrencyLimit()
    refuse(cap, 9, 0.0, 2.0, 4.0)

    refuse(cap, 6, 10.0, 12.0, 14.0)

    assert cap.most == 5


def test_one_or_two_calls_at_a_time_are_never_taken_for_a_cap() -> None:
    """Then next to every call would be refused now and then, at whatever rate."""
    for in_flight in (1, 2):
        cap = ConcurrencyLimit()

        refuse(cap, in_flight, *(2.0 * number for number in range(9)))

        assert cap.most == math.inf


def test_hours_of_a_rate_do_not_add_up_to_a_cap() -> None:
    """What was long ago is forgotten."""
    cap = ConcurrencyLimit()

    for hour_part in range(1000):
        for number in range(1, 30):
            for _ in range(10):
                cap.was_admitted(number)
        refuse(cap, 5 + hour_part % 20, 40.0 * hour_part)

    assert cap.most == math.inf
