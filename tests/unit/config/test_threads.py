"""A thread beside the work ends with the work."""

import threading
from threading import Barrier

import pytest

from proofsweep.config.threads import StopSwitch, background_thread, some_at_once

from ...worlds.waiting import wait_for

_LIMIT_SECONDS = 10.0  # far longer than a thread needs to start


def test_an_error_in_the_thread_ends_the_work_at_once_and_is_raised_at_the_end() -> None:
    """The work would go on unwatched."""
    error, stop = ZeroDivisionError("broken"), StopSwitch()

    def work(_over: threading.Event) -> None:
        raise error

    with pytest.raises(ZeroDivisionError) as raised, background_thread("companion", work, stop.pull):
        wait_for(lambda: stop.reason is not None)

    assert stop.reason is not None
    assert stop.reason.message == ("The thread companion failed through a mistake of this program (ZeroDivisionError).")
    assert raised.value is error


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
