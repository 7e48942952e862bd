"""The breaker trips for an outage that lasts, and for nothing less."""

import pytest

from proofsweep.client.pacing.breaker import Breaker
from proofsweep.domain.exchanges import Call


def test_it_takes_many_failures_and_some_time() -> None:
    """Neither a volley of failures in one second nor two failures in an hour make an outage."""
    breaker = Breaker(threshold=3, patience_seconds=10.0)

    volley = [breaker.failed(Call.VERIFY, now) for now in (0.0, 0.1, 0.2, 9.9)]

    assert volley == [False] * 4
    assert breaker.failed(Call.VERIFY, 10.0)
    assert not Breaker(threshold=3, patience_seconds=10.0).failed(Call.VERIFY, 3_600.0)


def test_one_answer_ends_the_streak() -> None:
    """A service that answers now and then is not down."""
    breaker = Breaker(threshold=2, patience_seconds=0.0)
    breaker.failed(Call.VERIFY, 0.0)

    breaker.succeeded(Call.VERIFY)

    assert not breaker.failed(Call.VERIFY, 100.0)
    assert breaker.failed(Call.VERIFY, 101.0)


def test_an_outage_is_looked_at_again_after_quiet_times_that_grow() -> None:
    """Twice as long each time, a minute at most, and one last time when the patience ends."""
    breaker, now, quiet_times = Breaker(threshold=3, patience_seconds=300.0), 0.0, []
    breaker.failed(Call.VERIFY, now)
    breaker.failed(Call.VERIFY, now)
    before = breaker.quiet_until

    while not breaker.failed(Call.VERIFY, now):
        quiet_times.append(breaker.quiet_until - now)
        now = breaker.quiet_until

    assert before == 0.0
    assert quiet_times == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 57.0]
    assert now == 300.0


def test_calls_that_fail_together_lengthen_nothing() -> None:
    """Two hundred were on their way when the service went; they end within one quiet time."""
    breaker = Breaker(threshold=3)

    for number in range(200):
        breaker.failed(Call.UPLOADS, number / 1_000)

    assert breaker.quiet_until == pytest.approx(1.002)


def test_an_outage_is_over_with_the_first_answer() -> None:
    """Then nobody waits any more."""
    breaker = Breaker(threshold=2)
    breaker.failed(Call.SLOT, 0.0)
    alone = breaker.is_outage
    breaker.failed(Call.SLOT, 0.0)
    together = breaker.is_outage

    breaker.succeeded(Call.SLOT)

    assert (alone, together, breaker.is_outage) == (False, True, False)
    assert breaker.quiet_until == 0.0


def test_no_run_has_to_end_because_it_cannot_see_its_quota() -> None:
    """Files are verified all the same."""
    breaker = Breaker(threshold=2, patience_seconds=0.0)

    assert not any(breaker.failed(Call.USAGE, now) for now in (0.0, 300.0, 600.0))
    assert not breaker.is_outage


def test_each_call_is_watched_by_itself() -> None:
    """A service may hand out slots and yet verify nothing."""
    breaker = Breaker(threshold=2, patience_seconds=0.0)
    breaker.failed(Call.VERIFY, 0.0)

    breaker.succeeded(Call.UPLOADS)

    assert breaker.failed(Call.VERIFY, 1.0)
