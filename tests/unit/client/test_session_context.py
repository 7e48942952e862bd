"""One call serves all sessions that wait for the same answer."""

import threading
from itertools import count

from proofsweep.client.session import SingleFlight


def test_a_result_is_as_old_as_the_beginning_of_its_call() -> None:
    """What happened while it was on its way may not be in it."""
    flight, times, results = SingleFlight[int](), iter([10.0, 20.0]), iter([7, 0])
    flight.result(0.0, lambda: next(times), lambda: next(results))

    assert flight.result(10.5, lambda: next(times), lambda: next(results)) == 0


def test_a_call_that_raises_leaves_no_result() -> None:
    """The next thread makes it again."""
    flight = SingleFlight[int]()

    def fail() -> int:
        raise ConnectionError

    try:
        flight.result(0.0, lambda: 1.0, fail)
    except ConnectionError:
        recovered = flight.result(0.0, lambda: 2.0, lambda: 3)

    assert recovered == 3


def test_threads_that_come_together_share_one_call() -> None:
    """The others wait for the thread that makes it."""
    flight, numbers, all_here, results = SingleFlight[int](), count(1), threading.Barrier(8), list[int]()

    def work() -> None:
        all_here.wait(30.0)
        results.append(flight.result(5.0, lambda: 5.0, lambda: next(numbers)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)

    assert results == [1] * 8
