"""Simulated time goes from one action to the next."""

from proofsweep.verify.rehearsal.event_queue import EventQueue


def test_actions_run_in_the_order_of_their_times_and_then_of_their_coming() -> None:
    """An action may add others, and the time is that of the action."""
    events, seen = EventQueue(), []

    def first() -> None:
        seen.append(("first", events.now))
        events.at(2.0, lambda: seen.append(("added", events.now)))

    events.at(2.0, lambda: seen.append(("second", events.now)))
    events.at(1.0, first)
    events.run_all()

    assert seen == [("first", 1.0), ("second", 2.0), ("added", 2.0)]
    assert events.now == 2.0


def test_time_stops_where_it_is_told_to() -> None:
    """What is due later waits."""
    events, seen = EventQueue(), []
    events.at(5.0, lambda: seen.append("late"))

    events.run(3.0)

    assert (seen, events.now) == ([], 3.0)
