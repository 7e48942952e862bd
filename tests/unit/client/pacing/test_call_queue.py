"""Whose turn it is: what is begun is finished first, and no slot is asked for that cannot be used soon."""

import math

from proofsweep.client.pacing.call_queue import CallQueue, Priority, Ticket
from proofsweep.client.pacing.concurrency_limit import ConcurrencyLimit
from proofsweep.client.pacing.pacer import Pacer


def quick_lane(cap: ConcurrencyLimit | None = None) -> CallQueue:
    """Give a lane that is wide enough for anything here."""
    return CallQueue(Pacer(known_rate=1e6), cap)


def cap_of(most: int) -> ConcurrencyLimit:
    """Give a cap that was seen just now."""
    cap = ConcurrencyLimit()
    for time in (-4.0, -2.0, 0.0):
        cap.was_refused(most + 1, time)
    return cap


def served(lane: CallQueue, now: float = 1.0) -> list[Ticket]:
    """Let everyone go who may, a little later each time."""
    found = []
    while (ticket := lane.take_next(now)) is not None:
        found.append(ticket)
        now += 0.001
    return found


def test_verify_goes_before_a_retried_slot_and_that_before_a_new_one() -> None:
    """Slots are short-lived."""
    lane = quick_lane()
    for priority in (Priority.NEW_SLOT, Priority.RETRIED_SLOT, Priority.OTHER, Priority.NEW_SLOT, Priority.OTHER):
        lane.enter(priority, object())

    order = [ticket.priority for ticket in served(lane)]

    assert order == [Priority.OTHER, Priority.OTHER, Priority.RETRIED_SLOT, Priority.NEW_SLOT, Priority.NEW_SLOT]


def test_slots_in_flight_are_bounded_by_what_the_lane_can_verify() -> None:
    """At six calls a second, and slots that live a second, twelve are enough; verifying one makes room."""
    lane = CallQueue(Pacer(first_rate=6.0))
    for holder in range(40):
        lane.enter(Priority.NEW_SLOT, holder)
    now = 0.0
    while lane.wake_at(now) < math.inf:
        now = max(now, lane.wake_at(now))
        lane.pacer.pace = 6.0
        lane.take_next(now)

    assert 40 - lane.waiting(Priority.NEW_SLOT) == 13

    lane.enter(Priority.OTHER, 0)
    lane.take_next(now + 1.0)
    assert lane.wake_at(now + 1.0) < math.inf


def test_a_slot_that_comes_to_nothing_makes_room() -> None:
    """An upload that fails, or an item that ends, leaves no slot behind."""
    lane = CallQueue(Pacer(first_rate=0.001))
    tickets = []
    for holder in range(9):
        lane.enter(Priority.NEW_SLOT, holder)
        ticket = lane.take_next(holder * 2000.0)
        tickets.append(ticket)
    lane.enter(Priority.NEW_SLOT, 9)
    full = lane.wake_at(17_000.0)

    lane.drop(3, tickets[3])

    assert full == math.inf
    assert lane.wake_at(17_000.0) < math.inf


def test_a_slot_whose_holder_is_gone_without_a_word_is_forgotten_in_the_end() -> None:
    """A mistake elsewhere must not hold a run back for good."""
    lane = CallQueue(Pacer(first_rate=0.001))
    for holder in range(10):
        lane.enter(Priority.NEW_SLOT, holder)
    for number in range(40):
        lane.take_next(number * 2000.0)

    assert lane.waiting(Priority.NEW_SLOT) == 0


def test_no_more_calls_are_on_their_way_than_a_cap_lets_through() -> None:
    """The end of one brings the turn of the next."""
    lane = quick_lane(cap_of(2))
    for _ in range(3):
        lane.enter(Priority.OTHER, object())
    first, second = served(lane)

    lane.was_answered(first)

    assert (second.in_flight, lane.in_flight) == (2, 1)
    assert len(served(lane)) == 1


def test_a_call_is_over_once() -> None:
    """However often it is told."""
    lane = quick_lane()
    ticket = lane.enter(Priority.OTHER, 1)
    served(lane)

    lane.was_answered(ticket)
    lane.drop(1, ticket)

    assert lane.in_flight == 0


def test_who_leaves_the_queue_holds_nobody_back() -> None:
    """The leg ends, and a waiting call is not made."""
    lane = quick_lane()
    gone = lane.enter(Priority.OTHER, 1)
    stays = lane.enter(Priority.OTHER, 2)

    lane.release(gone)

    assert served(lane) == [stays]


def test_a_429_that_a_cap_explains_does_not_slow_the_rate() -> None:
    """Everybody pauses all the same."""
    cap = cap_of(2)
    lane = quick_lane(cap)
    for holder in range(3):
        lane.enter(Priority.OTHER, holder)
    *_, beyond = served(lane, now=200.0)  # long after the last refusal the cap is tried
    before = lane.pacer.bucket

    lane.was_throttled(beyond, 201.0, 5.0)

    assert beyond.in_flight == 3
    assert (cap.most, lane.pacer.bucket) == (2, before)
    assert lane.pacer.next_at == 206.0
