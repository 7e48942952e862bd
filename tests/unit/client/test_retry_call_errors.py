"""The errors of failed calls: a sentence for a person, the facts for support, and no secret."""

from datetime import UTC, datetime

import pytest

from proofsweep.client.retry import call_error
from proofsweep.domain.errors import CallFailed, SlotRefused
from proofsweep.domain.exchanges import Call, Exchange, Failure
from proofsweep.domain.headers import AnswerHeaders


def exchange(call: Call, status: int | None, code: str | None = None, failure: Failure | None = None) -> Exchange:
    """Make the third attempt of a call."""
    return Exchange(
        call=call,
        attempt=3,
        started_at=datetime(2026, 11, 20, tzinfo=UTC),
        elapsed_ms=1.0,
        headers=AnswerHeaders(),
        status=status,
        error_code=code,
        failure=failure,
        request_id="rid-1",
    )


@pytest.mark.parametrize(
    ("failed", "sentence"),
    [
        (exchange(Call.SLOT, 413), "Status 413 from the storage target."),
        (
            exchange(Call.UPLOADS, None, failure=Failure.TIMEOUT),
            "No usable answer (timeout) from the call uploads, after 3 attempt(s).",
        ),
        (
            exchange(Call.SLOT, None, failure=Failure.CONNECTION),
            "No usable answer (connection) from the storage target, after 3 attempt(s).",
        ),
    ],
)
def test_the_sentence_names_what_failed(failed: Exchange, sentence: str) -> None:
    """The storage target has statuses of its own, so the contract's meanings are not added to them."""
    assert call_error(SlotRefused, failed, "slot_refused").message == sentence


def test_the_sentence_adds_the_contract_s_meaning_of_a_status() -> None:
    """A status alone says little to a person."""
    message = call_error(CallFailed, exchange(Call.VERIFY, 404, "not_found"), "http_404").message

    assert message.startswith("Status 404 (")
    assert message.endswith(") from the call verify.")
