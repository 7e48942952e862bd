"""Many items are worked on, some at once; an error begins nothing new."""

from threading import Barrier

import pytest

from proofsweep.background import some_at_once


def test_results_come_in_the_order_of_the_items() -> None:
    """Eight of them wait for each other, so they are worked on at once."""
    barrier = Barrier(8, timeout=10)

    def work(item: int) -> int:
        barrier.wait()
        return item * 2

    assert list(some_at_once(range(16), work, 8)) == [item * 2 for item in range(16)]


def test_an_error_ends_it_soon() -> None:
    """What was begun is finished; of many items few are begun."""
    begun = []

    def work(item: int) -> None:
        begun.append(item)
        raise ValueError(item)

    with pytest.raises(ValueError, match="0"):
        list(some_at_once(range(1_000), work, 8))

    assert len(begun) <= 16
