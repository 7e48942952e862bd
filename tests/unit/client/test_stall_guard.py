"""Silence among calls in flight is a stall, if it is longer than what is usual."""

from proofsweep.client.call_queue import StallGuard


def steady(gap_seconds: float, answers: int = 400) -> StallGuard:
    """Return a guard that has seen answers at an even pace, the last one at 0."""
    guard = StallGuard()
    guard.began(-gap_seconds * answers)
    for number in range(answers - 1, -1, -1):
        guard.ended(-gap_seconds * number)
    return guard


def test_few_calls_in_flight_show_nothing() -> None:
    """One slow answer is no stall."""
    assert not steady(0.05).is_stalled(5.0, in_flight=2)


def test_the_first_call_after_a_pause_begins_the_count() -> None:
    """No answer can come while nothing is in flight."""
    guard = steady(0.05)

    guard.began(100.0)

    assert not guard.is_stalled(100.1, in_flight=10)


def test_a_service_that_answers_in_batches_is_not_stalled() -> None:
    """A silence that comes every twenty answers is usual."""
    guard = StallGuard()
    guard.began(0.0)
    for second in range(100):
        for number in range(20):
            guard.ended(second + 0.001 * number)

    assert not guard.is_stalled(100.0, in_flight=10)


def test_calls_that_never_end_hold_back_no_others_for_long() -> None:
    """They are no stall, and each has a time limit of its own."""
    assert not steady(0.05).is_stalled(11.0, in_flight=10)
