"""Which call goes next, and how many are on their way at once."""

import math
from collections import deque

import pytest

from proofsweep.pacing.call_queue import CallQueue, ConcurrencyLimit, Priority, Ticket
from proofsweep.pacing.pacer import Pacer
from proofsweep.pacing.rate_share import Share


def fast_queue(
    waiting: int = 0, priority: Priority = Priority.NEW_SLOT, limit: ConcurrencyLimit | None = None, **most: int
) -> CallQueue:
    """Make a queue that no rate holds back, in which so many wait."""
    queue = CallQueue(Pacer(known_rate=1e6), limit, **most)
    for holder in range(waiting):
        queue.enter(priority, holder)
    return queue


def refuse(limit: ConcurrencyLimit, in_flight: int, *times: float) -> None:
    """Refuse a call at each time, after others with fewer in flight have gone through."""
    for time in times:
        for _ in range(in_flight - 1):
            limit.was_admitted(in_flight - 1)
        limit.was_refused(in_flight, time)


def served(queue: CallQueue, now: float = 1.0) -> list[Ticket]:
    """Let all calls go that may, a little later each time."""
    found = []
    while (ticket := queue.pop_next(now)) is not None:
        found.append(ticket)
        now += 0.001
    return found


def test_unused_slots_are_bounded_by_what_the_lane_can_verify() -> None:
    """At six calls per second, and slots that live for a second, 13 are enough; verifying one makes room."""
    queue = CallQueue(Pacer(first_rate=6.0))
    for holder in range(40):
        queue.enter(Priority.NEW_SLOT, holder)
    now = 0.0
    while queue.wake_at(now) < math.inf:
        now = max(now, queue.wake_at(now))
        queue.pacer.pace = 6.0
        ticket = queue.pop_next(now)
        if ticket is not None:
            queue.was_answered(ticket)
            queue.was_uploaded(ticket.holder)

    assert 40 - queue.waiting(Priority.NEW_SLOT) == 13

    queue.enter(Priority.OTHER, 0)
    queue.pop_next(now + 1.0)
    assert queue.wake_at(now + 1.0) < math.inf


def test_no_more_uploads_begin_than_are_set() -> None:
    """The end of one, with or without a result, lets the next one begin."""
    queue = fast_queue(12, most_uploads=8)

    begun = served(queue)
    for ticket in begun:
        queue.was_answered(ticket)

    assert len(begun) == 8
    assert served(queue) == []

    queue.was_uploaded(0)
    queue.drop(1, None)
    assert len(served(queue, now=2.0)) == 2


def test_fewer_uploads_begin_while_one_takes_long() -> None:
    """They share a slow link, and their slots would get old."""
    queue = fast_queue(12, most_uploads=8)
    for ticket in served(queue):
        queue.was_answered(ticket)
    for holder in (4, 5, 6, 7):
        queue.drop(holder, None)

    assert served(queue, now=60.0) == []

    queue.drop(0, None)
    assert len(served(queue, now=60.0)) == 1


@pytest.mark.parametrize("later", [1.0, 5.0])
def test_calls_that_are_not_answered_hold_others_back_for_a_moment(later: float) -> None:
    """When the way to the service stands still, they would arrive in a clump; after three seconds they only hang."""
    queue = fast_queue(40, Priority.OTHER)

    first = served(queue)
    more = served(queue, now=1.0 + later)

    assert 8 < len(first) < 16
    assert bool(more) == (later > 3.0)

    queue.was_answered(first[0])
    assert served(queue, now=2.0 + later)


def test_a_slot_that_is_not_used_makes_room() -> None:
    """An upload that fails, or an item that ends, leaves no slot behind."""
    queue = CallQueue(Pacer(first_rate=0.1))
    tickets = []
    for holder in range(9):
        queue.enter(Priority.NEW_SLOT, holder)
        ticket = queue.pop_next(holder * 20.0)
        queue.was_uploaded(holder)
        tickets.append(ticket)
    queue.enter(Priority.NEW_SLOT, 9)
    full = queue.wake_at(170.0)

    queue.drop(3, tickets[3])

    assert full == math.inf
    assert queue.wake_at(170.0) < math.inf


def test_a_429_that_a_concurrency_limit_explains_does_not_change_the_rate() -> None:
    """All calls pause nevertheless."""
    queue = fast_queue(3, Priority.OTHER, limit := ConcurrencyLimit())
    refuse(limit, 3, -4.0, -2.0, 0.0)
    *_, beyond = served(queue, now=200.0)  # long after the last refusal the limit is tested
    before = queue.pacer.rate, queue.pacer.burst

    queue.was_throttled(beyond, 201.0, 5.0)

    assert beyond.in_flight == 3
    assert (limit.most, queue.pacer.rate, queue.pacer.burst) == (2, *before)
    assert queue.pacer.next_at == 206.0


def test_what_a_small_concurrency_limit_taught_of_the_rate_is_forgotten() -> None:
    """Its first 429s look like those of a low rate; once the limit is known, all of it is used soon."""
    queue = CallQueue(Pacer(), limit := ConcurrencyLimit())
    answered = 0
    in_hand: deque[tuple[float, Ticket]] = deque()

    for now in (0.01 * step for step in range(9000)):
        while in_hand and in_hand[0][0] <= now:
            queue.was_answered(in_hand.popleft()[1])
            answered += now > 60.0
        if not queue.waiting(Priority.OTHER):
            queue.enter(Priority.OTHER, object())
        if (ticket := queue.pop_next(now)) is None:
            continue
        if len(in_hand) < 3:
            in_hand.append((now + 0.75, ticket))
        else:
            queue.was_throttled(ticket, now, 1.0)

    assert limit.most == 3
    assert queue.pacer.learned_rate is None
    assert answered > 0.9 * 30 * 3 / 0.75


def test_a_look_at_other_processes_without_a_pause_slows_no_search() -> None:
    """A process looks each second, and the pace doubles every one and a half."""
    paces = []
    for is_shared in (False, True):
        queue = CallQueue(Pacer())
        for step in range(600):
            if is_shared and step % 100 == 0:
                queue.apply_share(Share(part=0.5, rate=None, lease=None), 0.01 * step)
                queue.pause(0.01 * step, 0.0)
            queue.enter(Priority.OTHER, object())
            if (ticket := queue.pop_next(0.01 * step)) is not None:
                queue.was_answered(ticket)
        paces.append(queue.pacer.pace)

    assert paces[0] == paces[1] > 50.0


def test_probes_go_before_all_others_and_also_while_those_are_held() -> None:
    """What others wait for is asked first."""
    queue = fast_queue()
    for priority in (Priority.OTHER, Priority.NEW_SLOT, Priority.PROBE, Priority.RETRIED_SLOT, Priority.PROBE):
        queue.enter(priority, object())
    queue.is_held = True
    gone = [ticket.priority for ticket in served(queue)]
    is_nothing_due = queue.wake_at(2.0) == math.inf

    queue.is_held = False

    assert gone == [Priority.PROBE] * 2
    assert is_nothing_due
    assert [ticket.priority for ticket in served(queue, now=2.0)] == [
        Priority.OTHER,
        Priority.RETRIED_SLOT,
        Priority.NEW_SLOT,
    ]


def test_a_probe_is_not_held_back_by_uploads() -> None:
    """Nor by slots that wait to be used: the end of an outage is found soon."""
    queue = fast_queue(12)
    served(queue)

    queue.enter(Priority.PROBE, "probe", is_for_slot=True)

    assert [ticket.priority for ticket in served(queue, now=2.0)] == [Priority.PROBE]


def test_a_limit_that_shrinks_is_followed() -> None:
    """Calls below it are refused, and almost none goes through."""
    limit = ConcurrencyLimit()
    refuse(limit, 9, 0.0, 2.0, 4.0)

    refuse(limit, 6, 10.0, 12.0, 14.0)

    assert limit.most == 5


def test_hours_of_a_rate_do_not_add_up_to_a_limit() -> None:
    """Old counts fade."""
    limit = ConcurrencyLimit()

    for hour_part in range(1000):
        for number in range(1, 30):
            for _ in range(10):
                limit.was_admitted(number)
        refuse(limit, 5 + hour_part % 20, 40.0 * hour_part)

    assert limit.most == math.inf
