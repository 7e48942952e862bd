"""What one exchange means: success, charge, throttle, and whether an outage may be the cause."""

from datetime import UTC, datetime

import pytest

from proofsweep.domain.exchanges import Call, Exchange, Failure, is_spent_slot, is_transient, may_be_outage
from proofsweep.domain.headers import AnswerHeaders


def exchange(call: Call, status: int | None, failure: Failure | None = None, *, bytes_sent: int | None = 0) -> Exchange:
    """Make an exchange."""
    return Exchange(
        call=call,
        attempt=1,
        started_at=datetime(2026, 11, 20, tzinfo=UTC),
        elapsed_ms=1.0,
        headers=AnswerHeaders(),
        status=status,
        failure=failure,
        bytes_sent=bytes_sent,
    )


def test_all_calls_but_three_carry_the_key() -> None:
    """Health is public; slot and download go to other hosts (contract, Authentication 2)."""
    assert {call for call in Call if not call.is_keyed} == {Call.HEALTH, Call.SLOT, Call.DOWNLOAD}


@pytest.mark.parametrize(
    ("status", "failure", "is_success"),
    [
        (200, None, True),
        (204, None, True),
        (299, None, True),
        (199, None, False),
        (302, None, False),
        (403, None, False),
        (200, Failure.BAD_ANSWER, False),
        (None, Failure.CONNECTION, False),
    ],
)
def test_success_is_a_2xx_that_was_read(status: int | None, failure: Failure | None, is_success: bool) -> None:
    """Neither is enough alone."""
    assert exchange(Call.VERIFY, status, failure).is_success is is_success


@pytest.mark.parametrize(
    ("call", "bytes_sent", "is_charged"),
    [(Call.VERIFY, 40, True), (Call.USAGE, 0, True), (Call.VERIFY, None, False), (Call.SLOT, 40, False)],
)
def test_a_request_that_was_sent_with_the_key_is_charged(call: Call, bytes_sent: int | None, is_charged: bool) -> None:
    """The answer does not matter; without a connection it costs nothing (contract, Limits: all keyed operations)."""
    assert exchange(call, 500, bytes_sent=bytes_sent).is_charged is is_charged


@pytest.mark.parametrize(
    ("call", "status", "is_throttled"),
    [(Call.VERIFY, 429, True), (Call.SLOT, 429, False), (Call.HEALTH, 429, False), (Call.VERIFY, 503, False)],
)
def test_only_the_service_throttles(call: Call, status: int, is_throttled: bool) -> None:
    """A busy storage target does not know the limit of the key."""
    assert exchange(call, status).is_throttled is is_throttled


@pytest.mark.parametrize(
    ("expected", "which"),
    [
        (True, exchange(Call.VERIFY, 500)),
        (True, exchange(Call.UPLOADS, 404)),
        (True, exchange(Call.SLOT, 429)),
        (True, exchange(Call.SLOT, 408)),
        (True, exchange(Call.SLOT, 425)),
        (True, exchange(Call.SLOT, None, Failure.TIMEOUT)),
        (True, exchange(Call.VERIFY, 200, Failure.BAD_ANSWER)),
        (False, exchange(Call.SLOT, 413)),
        (False, exchange(Call.UPLOADS, 403)),
        (False, exchange(Call.VERIFY, 429)),
        (False, exchange(Call.VERIFY, 404)),
        (False, exchange(Call.SLOT, 403)),
    ],
)
def test_only_some_failures_are_transient(expected: bool, which: Exchange) -> None:
    """A wait may heal these; a refusal or a 429 shows that the service is up."""
    assert is_transient(which) is expected


@pytest.mark.parametrize(("status", "is_spent"), [(403, True), (404, True), (410, True), (413, False), (503, False)])
def test_a_slot_may_be_spent(status: int, is_spent: bool) -> None:
    """No wait heals that, but where all slots are spent at once, an outage may be the cause."""
    assert is_spent_slot(exchange(Call.SLOT, status)) is is_spent
    assert not is_spent_slot(exchange(Call.VERIFY, status))
    assert may_be_outage(exchange(Call.SLOT, status)) is (status != 413)
