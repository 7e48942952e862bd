"""A thread beside the work ends with the work."""

import threading
from threading import Barrier

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.config.threads import background_thread, some_at_once

from ...worlds.waiting import wait_for

_LIMIT_SECONDS = 10.0  # far longer than a thread needs to start


class Worker:
    """Work for a thread: it starts, waits for its end, and finishes."""

    def __init__(self) -> None:
        self.started, self.finished = threading.Event(), threading.Event()
        self.thread: threading.Thread | None = None

    def __call__(self, over: threading.Event) -> None:
        """Say that it began; finish when it is told to."""
        self.thread = threading.current_thread()
        self.started.set()
        if over.wait(_LIMIT_SECONDS):
            self.finished.set()


def test_the_thread_runs_beside_the_work_and_has_ended_after_it() -> None:
    """The thread bears its name, runs while the work runs, and has returned when the block is left."""
    worker = Worker()

    with background_thread("companion", worker):
        assert worker.started.wait(_LIMIT_SECONDS)
        assert not worker.finished.is_set()

    assert worker.finished.is_set()
    assert worker.thread is not None
    assert (worker.thread.name, worker.thread.daemon, worker.thread.is_alive()) == ("companion", True, False)


def test_a_failure_of_the_work_ends_the_thread_and_is_raised() -> None:
    """An exception passes through, after the thread has ended."""
    worker = Worker()

    with pytest.raises(ValueError, match="broken"), background_thread("companion", worker):
        raise ValueError("broken")

    assert worker.finished.is_set()


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
