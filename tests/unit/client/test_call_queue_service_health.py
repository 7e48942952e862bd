"""When a call has failed so often that a control must say whose fault it is, and when its waits are too long."""

import pytest

from proofsweep.client.call_queue import FAILURES_IN_A_ROW, ServiceHealth
from proofsweep.domain.exchanges import Call, Exchange, Failure

from .. import left_behind

Event = tuple[Call, int | None]
UPLOADS, SLOT, VERIFY, USAGE, ASSET = Call.UPLOADS, Call.SLOT, Call.VERIFY, Call.USAGE, Call.ASSET
FEW, ENOUGH = FAILURES_IN_A_ROW - 1, FAILURES_IN_A_ROW


def exchange(call: Call, status: int | None) -> Exchange:
    """Make an exchange with this status; None for a connection that was lost."""
    return left_behind.exchange(call, status, Failure.CONNECTION if status is None else None)


TABLE: list[tuple[list[Event], set[Call]]] = [
    # Ten failures in a row ask for a control, and not one fewer.
    ([(VERIFY, 500)] * FEW, set()),
    ([(VERIFY, 500)] * ENOUGH, {VERIFY}),
    ([(VERIFY, None)] * ENOUGH, {VERIFY}),
    ([(SLOT, 403)] * ENOUGH, {SLOT}),
    ([(UPLOADS, 404)] * ENOUGH, {UPLOADS}),
    ([(ASSET, 503)] * ENOUGH, {ASSET}),
    # A refusal is an answer, whatever it refuses.
    ([(VERIFY, 404)] * ENOUGH, set()),
    ([(VERIFY, 422)] * ENOUGH, set()),
    ([(SLOT, 413)] * ENOUGH, set()),
    ([(VERIFY, 500)] * FEW + [(VERIFY, 200), (VERIFY, 500)], set()),
    ([(VERIFY, 500)] * FEW + [(VERIFY, 422), (VERIFY, 500)], set()),
    ([(VERIFY, 500)] * ENOUGH + [(VERIFY, 200)], set()),
    # A 429 is neither an answer nor a failure.
    ([(VERIFY, 500)] * FEW + [(VERIFY, 429), (VERIFY, 500)], {VERIFY}),
    ([(VERIFY, 429)] * ENOUGH, set()),
    # Each call is watched by itself.
    ([(VERIFY, 500)] * FEW + [(UPLOADS, 500), (SLOT, 500)], set()),
    ([(VERIFY, 500)] * FEW + [(UPLOADS, 200), (VERIFY, 500)], {VERIFY}),
    # A quota that cannot be seen says nothing about the files.
    ([(USAGE, 500)] * ENOUGH, set()),
]


@pytest.mark.parametrize(("events", "doubtful"), TABLE)
def test_a_call_that_fails_often_enough_in_a_row_is_doubtful(events: list[Event], doubtful: set[Call]) -> None:
    """One row, one sequence of events; the comments say why."""
    health = ServiceHealth()

    for event in events:
        health.note(exchange(*event))

    assert {call for call in Call if health.is_doubtful(call)} == doubtful


def test_after_a_control_that_came_out_right_failures_are_counted_anew() -> None:
    """Of all calls."""
    health = ServiceHealth()
    for _ in range(ENOUGH):
        health.note(exchange(VERIFY, 500))

    health.trust()

    assert not health.is_doubtful(VERIFY)
    for _ in range(FEW):
        health.note(exchange(VERIFY, 500))
    assert not health.is_doubtful(VERIFY)


WAITS: list[tuple[list[tuple[float, Call, float]], bool]] = [
    # (when, call, seconds to wait): a wait that is too long is lost before anybody waits.
    ([(0, VERIFY, 120.0)], False),
    ([(0, VERIFY, 121.0)], True),
    # Short waits that never end are lost too.
    ([(now, VERIFY, 1.0) for now in range(121)], False),
    ([(now, VERIFY, 1.0) for now in range(122)], True),
    # Each call waits by itself.
    ([(0, UPLOADS, 1.0), (121, VERIFY, 1.0)], False),
]


@pytest.mark.parametrize(("waits", "is_lost"), WAITS)
def test_a_wait_without_end_is_lost(waits: list[tuple[float, Call, float]], is_lost: bool) -> None:
    """Whether the service says so at once, or asks for one second again and again."""
    health = ServiceHealth(longest_pause_seconds=120.0)

    told = [health.told_to_wait(call, wait_seconds, now) for now, call, wait_seconds in waits]

    assert told == [False] * (len(waits) - 1) + [is_lost]


@pytest.mark.parametrize(
    ("between", "is_lost"),
    [
        (exchange(VERIFY, 200), False),
        (exchange(VERIFY, 404), False),
        (exchange(VERIFY, 429), True),
        (exchange(VERIFY, 503), False),
        (exchange(VERIFY, None), True),
        (exchange(USAGE, 200), True),
    ],
)
def test_only_an_answer_to_the_same_call_ends_its_wait(between: Exchange, is_lost: bool) -> None:
    """A busy lane that moves is only slow; GET /partner/usage is answered while no slot is given for hours."""
    health = ServiceHealth(longest_pause_seconds=120.0)
    health.told_to_wait(VERIFY, 1.0, 0.0)

    health.note(between)

    assert health.told_to_wait(VERIFY, 1.0, 121.0) is is_lost
