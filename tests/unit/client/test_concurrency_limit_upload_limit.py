"""As many uploads as fill the link."""

import heapq
from collections.abc import Callable

import pytest

from proofsweep.client.in_flight import UploadLimit


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
