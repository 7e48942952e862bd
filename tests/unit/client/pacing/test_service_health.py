"""Which state a call of the service is in, who is to blame for a failure, and when the leg must end."""

from datetime import UTC, datetime

import pytest

from proofsweep.client.pacing.service_health import Culprit, Health, ServiceHealth
from proofsweep.contract.headers import AnswerHeaders
from proofsweep.domain.exchanges import Call, Exchange, Failure

STARTED_AT = datetime(2026, 11, 20, tzinfo=UTC)

Event = tuple[float, Call, int | None]
UPLOADS, SLOT, VERIFY, USAGE = Call.UPLOADS, Call.SLOT, Call.VERIFY, Call.USAGE


def exchange(call: Call, status: int | None) -> Exchange:
    """Make an exchange with this status; None for a connection that was lost."""
    return Exchange(
        call=call,
        attempt=1,
        started_at=STARTED_AT,
        elapsed_ms=1.0,
        headers=AnswerHeaders(),
        status=status,
        failure=Failure.CONNECTION if status is None else None,
    )


def play(health: ServiceHealth, events: list[Event]) -> Health:
    """Let each event happen to another item; give the state after the last one."""
    return [health.note(exchange(call, status), object(), now) for now, call, status in events][-1]


TABLE: list[tuple[list[Event], Health, bool]] = [
    # From well, only a failure leads away.
    ([(0, VERIFY, 200)], Health.WELL, False),
    ([(0, VERIFY, 404)], Health.WELL, False),
    ([(0, VERIFY, 429)], Health.WELL, False),
    ([(0, SLOT, 413)], Health.WELL, False),
    ([(0, VERIFY, 500)], Health.FAILING, False),
    ([(0, VERIFY, None)], Health.FAILING, False),
    ([(0, SLOT, 403)], Health.FAILING, False),
    ([(0, UPLOADS, 404)], Health.FAILING, False),
    # Failing takes three in a row to be an outage, however long they take.
    ([(0, VERIFY, 500), (9, VERIFY, None)], Health.FAILING, False),
    ([(0, VERIFY, 500), (3_600, VERIFY, 500)], Health.FAILING, False),
    ([(0, VERIFY, 500), (1, VERIFY, 500), (2, VERIFY, 500)], Health.OUTAGE, True),
    ([(0, SLOT, 403), (1, SLOT, 403), (2, SLOT, None)], Health.OUTAGE, True),
    # One answer, a refusal or a 429 ends it.
    ([(0, VERIFY, 500), (1, VERIFY, 500), (2, VERIFY, 200), (3, VERIFY, 500)], Health.FAILING, False),
    ([(0, VERIFY, 500), (1, VERIFY, 500), (2, VERIFY, 422), (3, VERIFY, 500)], Health.FAILING, False),
    ([(0, VERIFY, 500), (1, VERIFY, 500), (2, VERIFY, 429), (3, VERIFY, 500)], Health.FAILING, False),
    ([(0, VERIFY, 500), (1, VERIFY, 500), (2, VERIFY, 500), (3, VERIFY, 200)], Health.WELL, False),
    # An outage is lost at the first failure after ten seconds, and not before.
    ([(0, VERIFY, 500), (0, VERIFY, 500), (0, VERIFY, 500), (9.9, VERIFY, 500)], Health.OUTAGE, True),
    ([(0, VERIFY, 500), (0, VERIFY, 500), (0, VERIFY, 500), (10, VERIFY, 500)], Health.LOST, True),
    ([(0, VERIFY, 500), (5, VERIFY, 500), (10, VERIFY, 500)], Health.LOST, True),
    ([(0, VERIFY, 500), (0, VERIFY, 500), (0, VERIFY, 500), (10, VERIFY, 500), (11, VERIFY, 200)], Health.WELL, False),
    # Each call is watched by itself.
    ([(0, VERIFY, 500), (1, UPLOADS, 500), (2, SLOT, 500)], Health.FAILING, False),
    ([(0, VERIFY, 500), (1, VERIFY, 500), (1, UPLOADS, 200), (2, VERIFY, 500)], Health.OUTAGE, True),
    # No leg ends because its quota cannot be seen.
    ([(0, USAGE, 500), (300, USAGE, 500), (600, USAGE, 500)], Health.WELL, False),
]


@pytest.mark.parametrize(("events", "state", "is_outage"), TABLE)
def test_events_lead_to_a_state(events: list[Event], state: Health, is_outage: bool) -> None:
    """One row, one sequence of events; three failures in a row are an outage, and ten seconds of it are too long."""
    health = ServiceHealth(breaker_failures=3, breaker_seconds=10.0)

    assert play(health, events) is state
    assert health.is_outage is is_outage


def test_an_outage_is_probed_after_quiet_times_that_grow() -> None:
    """Twice as long each time, a minute at most, and one last time when the outage has lasted too long."""
    health, now, quiet_times = ServiceHealth(breaker_failures=3, breaker_seconds=300.0), 0.0, []
    play(health, [(now, VERIFY, 500)] * 2)
    before = health.quiet_seconds(now)

    while play(health, [(now, VERIFY, 500)]) is not Health.LOST:
        quiet_times.append(health.quiet_seconds(now))
        now += health.quiet_seconds(now)

    assert before <= 0.0
    assert quiet_times == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 57.0]
    assert now == 300.0


def test_calls_that_fail_together_lengthen_nothing() -> None:
    """Two hundred were in flight when the service went down; they end within one quiet time."""
    health = ServiceHealth(breaker_failures=3)

    play(health, [(number / 1_000, UPLOADS, 500) for number in range(200)])

    assert health.quiet_seconds(0.0) == pytest.approx(1.002)


def test_no_time_is_quiet_after_an_answer() -> None:
    """All calls go again."""
    health = ServiceHealth(breaker_failures=2)

    play(health, [(0, SLOT, 500), (0, SLOT, 500), (0, SLOT, 204)])

    assert health.quiet_seconds(0.0) <= 0.0


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

    health.note(between, object(), 1.0)

    assert health.told_to_wait(VERIFY, 1.0, 121.0) is is_lost


BLAMES: list[tuple[list[Event], Exchange, Culprit]] = [
    # Somebody was answered since: the service is well, so the item is to blame.
    ([(9, VERIFY, 500), (11, VERIFY, 200)], exchange(VERIFY, 500), Culprit.ITEM),
    ([(10, VERIFY, 200)], exchange(VERIFY, 500), Culprit.ITEM),
    ([(11, VERIFY, 500), (11, VERIFY, 500), (11, VERIFY, 500), (12, VERIFY, 200)], exchange(VERIFY, 500), Culprit.ITEM),
    # An earlier answer, a 429 or an answer to another call is no proof.
    ([(9.9, VERIFY, 200)], exchange(VERIFY, 500), Culprit.UNKNOWN),
    ([(11, VERIFY, 429)], exchange(VERIFY, 500), Culprit.UNKNOWN),
    ([(11, UPLOADS, 200)], exchange(VERIFY, None), Culprit.UNKNOWN),
    # Three items fail at once, whatever they ask for.
    ([(11, VERIFY, 500), (11, VERIFY, 500)], exchange(VERIFY, 500), Culprit.UNKNOWN),
    ([(11, VERIFY, 500), (11, UPLOADS, 500), (11, USAGE, 500)], exchange(VERIFY, 500), Culprit.SERVICE),
    # What no outage explains is the item's, and so is a call that is not made for items.
    ([(11, VERIFY, 500)] * 3, exchange(VERIFY, 404), Culprit.ITEM),
    ([(11, VERIFY, 500)] * 3, exchange(SLOT, 413), Culprit.ITEM),
    ([(11, VERIFY, 500)] * 3, exchange(USAGE, 500), Culprit.ITEM),
]


@pytest.mark.parametrize(("events", "last", "blame"), BLAMES)
def test_who_is_to_blame_for_an_item_that_fails_since_second_ten(
    events: list[Event], last: Exchange, blame: Culprit
) -> None:
    """The item, if others are answered; the service, if many fail; unknown, if nobody else asks."""
    health = ServiceHealth(breaker_failures=3)
    play(health, events)

    assert health.blame(last, 10.0) is blame


def test_an_item_that_is_over_or_answered_no_longer_fails() -> None:
    """Only items that fail now count as many."""
    health = ServiceHealth(breaker_failures=2)
    for holder in ("a", "b", "c"):
        health.note(exchange(UPLOADS, 500), holder, 1.0)
    many = health.blame(exchange(VERIFY, 500), 0.0)

    health.forget("a")
    health.note(exchange(UPLOADS, 200), "b", 2.0)

    assert many is Culprit.SERVICE
    assert health.blame(exchange(VERIFY, 500), 0.0) is Culprit.UNKNOWN


def test_an_item_that_the_service_fails_for_too_long_is_lost() -> None:
    """As long as an outage may last."""
    health = ServiceHealth(breaker_seconds=20.0)

    assert not health.is_lost(since=100.0, now=119.9)
    assert health.is_lost(since=100.0, now=120.0)
