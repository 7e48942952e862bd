"""A circuit opens when calls fail for many items, lets one probe go at a time, and closes when one is answered."""

import pytest

from proofsweep.domain.exchanges import Call, Exchange, Failure
from proofsweep.pacing.circuit_breaker import FAILING_SECONDS, FAILURES_IN_A_ROW, CircuitBreaker

from .. import left_behind

Event = tuple[Call, int | None]
UPLOADS, SLOT, VERIFY, USAGE, ASSET = Call.UPLOADS, Call.SLOT, Call.VERIFY, Call.USAGE, Call.ASSET
FEW, ENOUGH = FAILURES_IN_A_ROW - 1, FAILURES_IN_A_ROW


def exchange(call: Call, status: int | None) -> Exchange:
    """Make an exchange with this status; None for a connection that was lost."""
    return left_behind.exchange(call, status, Failure.CONNECTION if status is None else None)


TABLE: list[tuple[list[Event], bool]] = [
    # Ten failures in a row open it, and not one fewer.
    ([(VERIFY, 500)] * FEW, False),
    ([(VERIFY, 500)] * ENOUGH, True),
    ([(VERIFY, None)] * ENOUGH, True),
    ([(VERIFY, 403)] * ENOUGH, True),
    ([(SLOT, 403)] * ENOUGH, True),
    ([(UPLOADS, 404)] * ENOUGH, True),
    ([(ASSET, 503)] * ENOUGH, True),
    # A refusal is an answer, whatever it refuses.
    ([(VERIFY, 404)] * ENOUGH, False),
    ([(VERIFY, 422)] * ENOUGH, False),
    ([(SLOT, 413)] * ENOUGH, False),
    ([(VERIFY, 500)] * FEW + [(VERIFY, 200), (VERIFY, 500)], False),
    ([(VERIFY, 500)] * FEW + [(VERIFY, 422), (VERIFY, 500)], False),
    # A 429 is neither an answer nor a failure.
    ([(VERIFY, 500)] * FEW + [(VERIFY, 429), (VERIFY, 500)], True),
    ([(VERIFY, 429)] * ENOUGH, False),
    # Each call is watched by itself: a service may give slots and verify nothing.
    ([(VERIFY, 500)] * FEW + [(UPLOADS, 500), (SLOT, 500)], False),
    ([(VERIFY, 500)] * FEW + [(UPLOADS, 200), (VERIFY, 500)], True),
    # A quota that cannot be seen says nothing about the files.
    ([(USAGE, 500)] * ENOUGH, False),
]


@pytest.mark.parametrize(("events", "opens"), TABLE)
def test_what_opens_it(events: list[Event], *, opens: bool) -> None:
    """One row, one sequence of events, two in a second; the comments say why."""
    breaker = CircuitBreaker()

    asked = [breaker.record(exchange(*event), now / 2) for now, event in enumerate(events)]

    assert asked == [False] * (len(events) - 1) + [opens]


def test_a_short_burst_of_failures_does_not_open_it() -> None:
    """So do files that fail alike beside each other; in an outage it goes on."""
    breaker = CircuitBreaker()

    burst = [breaker.record(exchange(VERIFY, 503), 0.02 * number) for number in range(2 * ENOUGH)]

    assert (any(burst), breaker.record(exchange(VERIFY, 503), FAILING_SECONDS)) == (False, True)


def test_the_first_probe_goes_at_once_and_the_waits_after_it_double() -> None:
    """Up to a minute, for as long as it is open."""
    breaker, now, waits = CircuitBreaker(), 1_000.0, []
    assert breaker.open(now)

    for _ in range(6):
        breaker.begin_probe(now)
        breaker.probe_failed()
        waits.append(breaker.due_at - now)
        now = breaker.due_at

    assert waits == [10.0, 20.0, 40.0, 60.0, 60.0, 60.0]
    assert breaker.is_open


def test_a_probe_that_is_answered_closes_it_and_holds_for_a_while() -> None:
    """Many files that fail beside each other cost a few probes; after a calm time the waits begin anew."""
    breaker = CircuitBreaker()
    breaker.open(0.0)
    breaker.begin_probe(0.0)
    breaker.close()

    opened = [breaker.open(now) for now in (9.0, 10.0, 11.0)]
    breaker.close()
    breaker.begin_probe(500.0)

    assert opened == [False, True, False]
    assert (breaker.is_open, breaker.due_at) == (False, 510.0)
