"""The retry rule as one table: what follows which exchange, and why; and the errors of what is given up."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofsweep.client.retry import GIVE_UP, Step, backoff, call_error, decide, reason_of
from proofsweep.config.sections import RetrySettings
from proofsweep.domain.errors import CallFailed, SlotRefused
from proofsweep.domain.exchanges import AnswerHeaders, Call, Exchange, Failure

from .. import left_behind

SETTINGS = RetrySettings(attempts=3, longest_wait_seconds=8.0)
SHORT = 4.0
LONG = 900.0


def exchange(
    call: Call,
    status: int | None = None,
    failure: Failure | None = None,
    retry_after: float | None = None,
    **facts: object,
) -> Exchange:
    return left_behind.exchange(call, status, failure, headers=AnswerHeaders(retry_after_seconds=retry_after), **facts)


# Jitter is 1 throughout: our own waits are 0.5, 1, 2, 4 and 8 seconds. A reason alone says that the call is given up.
TABLE = [
    # A throttled call waits as told, however often; a 429 is no failure.
    (exchange(Call.UPLOADS, 429, retry_after=SHORT), 0, 0, (Step.PAUSE_ALL, SHORT)),
    (exchange(Call.UPLOADS, 429, retry_after=SHORT, attempt=50), 0, 0, (Step.PAUSE_ALL, SHORT)),
    (exchange(Call.VERIFY, 429, retry_after=LONG), 2, 1, (Step.PAUSE_ALL, LONG)),
    (exchange(Call.VERIFY, 429), 0, 0, (Step.PAUSE_ALL, 0.5)),
    (exchange(Call.VERIFY, 429, attempt=3), 0, 0, (Step.PAUSE_ALL, 2.0)),
    (exchange(Call.VERIFY, 429, retry_after=0.0), 0, 0, (Step.PAUSE_ALL, 0.5)),
    # GET /partner/usage may have a lane of its own: its 429 holds no other call back, and nobody waits long for it.
    (exchange(Call.USAGE, 429, Failure.BAD_ANSWER, retry_after=SHORT), 0, 0, (Step.RETRY, SHORT)),
    (exchange(Call.USAGE, 429, retry_after=SHORT, attempt=2), 0, 0, (Step.RETRY, SHORT)),
    (exchange(Call.USAGE, 429, retry_after=SHORT, attempt=3), 0, 0, "http_429"),
    (exchange(Call.USAGE, 429, retry_after=LONG), 0, 0, "http_429"),
    (exchange(Call.USAGE, 503, retry_after=LONG), 1, 0, (Step.RETRY, 8.0)),
    # Rotation has a lane of its own, and its attempts are limited.
    (exchange(Call.ROTATE, 429, retry_after=SHORT, attempt=3), 0, 0, "http_429"),
    (exchange(Call.ROTATE, 429, retry_after=60.0), 0, 0, (Step.RETRY, 60.0)),
    (exchange(Call.ROTATE, 429, retry_after=LONG), 0, 0, "http_429"),
    (exchange(Call.ROTATE, 503, retry_after=LONG), 1, 0, (Step.RETRY, 8.0)),
    # A 403 of the API always means the key.
    (exchange(Call.VERIFY, 403), 1, 0, (Step.RENEW_KEY, 0.0)),
    (exchange(Call.USAGE, 403, Failure.BAD_ANSWER), 1, 0, (Step.RENEW_KEY, 0.0)),
    (exchange(Call.HEALTH, 403), 1, 0, "http_403"),
    (exchange(Call.DOWNLOAD, 403), 1, 0, "http_403"),
    # A transient failure is repeated after longer and longer waits, until the attempts are used up.
    (exchange(Call.VERIFY, 500), 1, 0, (Step.RETRY, 0.5)),
    (exchange(Call.VERIFY, 503), 2, 0, (Step.RETRY, 1.0)),
    (exchange(Call.VERIFY, 500), 3, 0, "http_500"),
    (exchange(Call.UPLOADS, None, Failure.CONNECTION), 1, 0, (Step.RETRY, 0.5)),
    (exchange(Call.UPLOADS, None, Failure.TIMEOUT), 3, 0, "timeout"),
    (exchange(Call.VERIFY, 200, Failure.BAD_ANSWER), 1, 0, (Step.RETRY, 0.5)),
    (exchange(Call.HEALTH, 500), 1, 0, (Step.RETRY, 0.5)),
    (exchange(Call.HEALTH, 429), 1, 0, (Step.RETRY, 0.5)),
    # A service that says how long it is down is waited for, within bounds, and only by the call that it said it to.
    (exchange(Call.VERIFY, 503, retry_after=SHORT), 1, 0, (Step.RETRY, SHORT)),
    (exchange(Call.VERIFY, 503, retry_after=LONG), 1, 0, (Step.RETRY, 8.0)),
    (exchange(Call.UPLOADS, 503, retry_after=LONG), 2, 0, (Step.RETRY, 8.0)),
    (exchange(Call.VERIFY, 503, retry_after=LONG), 3, 0, "http_503"),
    (exchange(Call.DOWNLOAD, 503, retry_after=LONG), 1, 0, (Step.RETRY, 8.0)),
    # Some statuses of verify may mean that the upload is gone: one fresh upload, then they are final.
    (exchange(Call.VERIFY, 400), 1, 0, (Step.FRESH_SLOT, 0.0)),
    (exchange(Call.VERIFY, 404), 1, 0, (Step.FRESH_SLOT, 0.0)),
    (exchange(Call.VERIFY, 409), 2, 0, (Step.FRESH_SLOT, 0.0)),
    (exchange(Call.VERIFY, 410), 2, 0, (Step.FRESH_SLOT, 0.0)),
    (exchange(Call.VERIFY, 404), 2, 1, "http_404"),
    (exchange(Call.VERIFY, 302), 1, 0, "http_302"),
    # The same bytes would be too large, or unfit, once more.
    (exchange(Call.VERIFY, 413), 1, 0, "http_413"),
    (exchange(Call.VERIFY, 422), 1, 0, "http_422"),
    # A request for a slot names no item: every refusal but a 403 is transient.
    (exchange(Call.UPLOADS, 400), 1, 0, (Step.RETRY, 0.5)),
    (exchange(Call.UPLOADS, 404), 3, 0, "http_404"),
    (exchange(Call.UPLOADS, 403), 1, 0, (Step.RENEW_KEY, 0.0)),
    # Another 4xx of any other call is final at once.
    (exchange(Call.PROOF, 404), 1, 0, "http_404"),
    # A slot is never filled twice: an expired slot or a transient failure leads to a fresh one.
    (exchange(Call.SLOT, 404), 1, 0, (Step.FRESH_SLOT, 0.0)),
    (exchange(Call.SLOT, 410), 1, 0, (Step.FRESH_SLOT, 0.0)),
    (exchange(Call.SLOT, 403), 1, 0, (Step.FRESH_SLOT, 0.0)),
    (exchange(Call.SLOT, 403), 2, 1, (Step.FRESH_SLOT, 1.0)),
    (exchange(Call.SLOT, 403), 3, 2, "slot_refused"),
    (exchange(Call.SLOT, 503), 1, 0, (Step.FRESH_SLOT, 0.5)),
    (exchange(Call.SLOT, 503, retry_after=LONG), 1, 0, (Step.FRESH_SLOT, 8.0)),
    (exchange(Call.SLOT, 429), 2, 1, (Step.FRESH_SLOT, 1.0)),
    (exchange(Call.SLOT, 408), 1, 0, (Step.FRESH_SLOT, 0.5)),
    (exchange(Call.SLOT, 425), 2, 1, (Step.FRESH_SLOT, 1.0)),
    (exchange(Call.SLOT, None, Failure.CONNECTION), 1, 0, (Step.FRESH_SLOT, 0.5)),
    (exchange(Call.SLOT, None, Failure.TIMEOUT), 3, 2, "timeout"),
    (exchange(Call.SLOT, 413), 1, 0, "slot_refused"),
    (exchange(Call.SLOT, 302), 1, 0, "slot_refused"),
]


@pytest.mark.parametrize(("failed", "failures", "fresh_slots", "expected"), TABLE)
def test_what_follows_a_failed_exchange(
    failed: Exchange, failures: int, fresh_slots: int, expected: str | tuple[Step, float]
) -> None:
    """One row, one rule; the comments in the table say which."""
    decision = decide(failed, SETTINGS, failures=failures, fresh_slots=fresh_slots, jitter=1.0)

    assert decision == (GIVE_UP if isinstance(expected, str) else expected)
    assert not isinstance(expected, str) or reason_of(failed) == expected


@pytest.mark.parametrize(
    ("call", "told_seconds", "expected"),
    [
        (Call.VERIFY, LONG, (Step.PAUSE_ALL, LONG)),
        (Call.VERIFY, SHORT, (Step.RETRY, SHORT)),
        (Call.USAGE, LONG, (Step.RETRY, 8.0)),
    ],
)
def test_what_a_probe_of_an_outage_is_told_holds_for_all(
    call: Call, told_seconds: float, expected: tuple[Step, float]
) -> None:
    """Nothing else goes meanwhile; a service that is down for an hour ends the leg."""
    failed = exchange(call, 503, retry_after=told_seconds)

    assert decide(failed, SETTINGS, failures=1, fresh_slots=0, jitter=1.0, is_of_outage=True) == expected


@pytest.mark.parametrize("attempt", [1, 2, 3, 4, 5, 60, 10_000])
def test_backoff_doubles_within_bounds(attempt: int) -> None:
    """Jitter spreads a wait over its upper half, and no wait is longer than the longest."""
    shortest, longest = backoff(SETTINGS, attempt, 0.0), backoff(SETTINGS, attempt, 1.0)

    assert longest == min(8.0, 2.0 ** min(attempt - 2, 3))
    assert shortest == longest / 2


ANY_EXCHANGE = st.builds(
    exchange,
    st.sampled_from(Call),
    st.none() | st.integers(100, 999),
    st.none() | st.sampled_from(Failure),
    retry_after=st.none() | st.floats(0, 315_360_000),
    attempt=st.integers(1, 10_000),
)


@settings(deadline=None)
@given(ANY_EXCHANGE, st.integers(0, 100), st.integers(0, 100), st.floats(0, 1), st.booleans())
def test_no_wait_is_endless_and_nothing_is_tried_for_ever(
    failed: Exchange, failures: int, fresh_slots: int, jitter: float, is_of_outage: bool
) -> None:
    """Only a 429 or an outage causes a long wait; after the last attempt only a 429 or a new key allows more."""
    facts = {"failures": failures, "fresh_slots": fresh_slots, "jitter": jitter}
    step, wait_seconds = decide(failed, SETTINGS, **facts, is_of_outage=is_of_outage)
    last, _ = decide(failed, SETTINGS, failures=SETTINGS.attempts, fresh_slots=SETTINGS.attempts, jitter=jitter)

    longest_seconds = SETTINGS.longest_wait_seconds
    if step is Step.PAUSE_ALL:
        longest_seconds = max(failed.headers.retry_after_seconds or 0, longest_seconds)
        assert failed.call.is_keyed
        assert is_of_outage or failed.is_throttled
    is_lane_of_its_own = failed.call is Call.ROTATE and failed.status == 429
    assert wait_seconds >= 0
    assert wait_seconds <= longest_seconds or is_lane_of_its_own
    most = {Call.ROTATE: SETTINGS.attempts, Call.USAGE: SETTINGS.attempts}.get(failed.call, math.inf)
    patient = failed.is_throttled and failed.attempt < most
    assert last in {Step.GIVE_UP, *({Step.PAUSE_ALL, Step.RETRY} if patient else {Step.RENEW_KEY})}


def test_an_error_names_what_failed_and_has_what_support_asks_for() -> None:
    """A status has its standard phrase, whoever gave it."""
    lost = exchange(Call.UPLOADS, None, Failure.TIMEOUT, attempt=3)
    down = exchange(Call.VERIFY, 500, error_code="internal", request_id="rid-2")

    errors = [
        call_error(SlotRefused, exchange(Call.SLOT, 413)),
        call_error(CallFailed, lost),
        call_error(CallFailed, down),
    ]

    assert [error.message for error in errors] == [
        "Status 413 (Request Entity Too Large) from the storage target.",
        "No usable answer (timeout) from the call uploads, after 3 attempt(s).",
        "Status 500 (Internal Server Error) from the call verify.",
    ]
    facts = (errors[2].stage, errors[2].reason, errors[2].status, errors[2].code, errors[2].request_id)
    assert facts == ("verify", "http_500", 500, "internal", "rid-2")
