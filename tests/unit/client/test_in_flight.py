"""How many calls and uploads may be on their way: a limit differs from a rate, and a full link from a slow lane."""

import heapq
import math
from collections.abc import Callable

import pytest

from proofsweep.client.in_flight import ConcurrencyLimit, UploadLimit


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


def test_one_burst_is_not_enough() -> None:
    """When a search overshoots, many calls are refused at once, with more in flight than ever before."""
    limit = ConcurrencyLimit()

    refuse(limit, 50, *(0.01 * number for number in range(30)))

    assert limit.most == math.inf


def test_a_limit_is_tested_every_few_minutes() -> None:
    """With one call more, since it may have been lifted."""
    limit = ConcurrencyLimit()
    refuse(limit, 9, 0.0, 2.0, 4.0)

    assert (limit.allowed(5.0), limit.allowed(300.0)) == (8, 9)

    refuse(limit, 9, 300.0)
    assert (limit.most, limit.allowed(301.0)) == (8, 8)


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


def run(limit: UploadLimit, seconds: float, speed_of_each: Callable[[int], float]) -> list[int]:
    """Upload files of one to five megabytes for so long, as many as may; give how many were there at each end."""
    now, order, counts = 0.0, 0, []
    ends: list[tuple[float, int, float, float]] = []
    while now < seconds and limit.most < 500:
        while not limit.is_reached:
            order += 1
            limit.began(order)
            size = 1.0 + order % 5
            heapq.heappush(ends, (now + size / speed_of_each(len(ends) + 1), order, size, now))
        now, holder, size, began_at = heapq.heappop(ends)
        counts.append(len(ends) + 1)
        limit.ended(holder, size, now - began_at, now)
    return counts


def test_it_grows_where_each_upload_has_a_link_of_its_own() -> None:
    """Twice as many carry twice as much."""
    limit = UploadLimit()

    run(limit, 60.0, lambda _at_once: 2.0)

    assert limit.most > 100


def test_it_stays_low_where_all_share_a_full_link() -> None:
    """More uploads only make each slower, and slots older."""
    limit = UploadLimit()

    counts = run(limit, 600.0, lambda at_once: 20.0 / at_once)

    assert sum(counts) / len(counts) < 12


def test_it_finds_the_number_that_fills_a_link() -> None:
    """Thirty are needed here: each carries at most a thirtieth."""
    limit = UploadLimit()

    counts = run(limit, 900.0, lambda at_once: min(1.0, 30.0 / at_once))

    assert 20 < sorted(counts)[len(counts) // 2] < 75


@pytest.mark.parametrize("at_once", [1, 3])
def test_few_uploads_show_nothing(at_once: int) -> None:
    """A slow lane is not a full link."""
    limit = UploadLimit()

    for number in range(1000):
        for holder in range(at_once):
            limit.began((number, holder))
        for holder in range(at_once):
            limit.ended((number, holder), 1.0, 1.0, float(number))

    assert limit.most == 8
