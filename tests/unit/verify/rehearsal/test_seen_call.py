"""Of an exchange, a rehearsal needs the times and the answer."""

from datetime import UTC, datetime

from proofsweep.contract.headers import AnswerHeaders
from proofsweep.model.exchanges import Call, Exchange, Failure
from proofsweep.verify.rehearsal.seen_call import seen_call

EXCHANGE = {
    "call": Call.VERIFY,
    "attempt": 1,
    "started_at": datetime(1970, 1, 1, 0, 1, tzinfo=UTC),
    "elapsed_ms": 250.0,
    "headers": AnswerHeaders(retry_after_seconds=2.0),
    "bytes_sent": 70,
}


def test_an_exchange_is_seen_in_seconds() -> None:
    """From its begin to its answer."""
    seen = seen_call(Exchange(**EXCHANGE, status=429))  # type: ignore[arg-type]  # the members above

    assert (seen.began, seen.ended, seen.sent_bytes, seen.retry_after_seconds) == (60.0, 60.25, 70, 2.0)
    assert (seen.is_refused, seen.is_success) == (True, False)


def test_a_used_up_quota_is_no_refusal_of_the_lane() -> None:
    """It asks for a wait until the next month."""
    used_up = EXCHANGE | {"headers": AnswerHeaders(retry_after_seconds=900_000.0)}

    assert not seen_call(Exchange(**used_up, status=429)).is_refused  # type: ignore[arg-type]  # the members above


def test_an_answer_that_was_cut_is_no_success() -> None:
    """Whatever its status was."""
    cut = seen_call(Exchange(**EXCHANGE, status=200, failure=Failure.BAD_ANSWER))  # type: ignore[arg-type]

    assert (cut.began, cut.status) == (60.0, None)
    assert not cut.is_success
