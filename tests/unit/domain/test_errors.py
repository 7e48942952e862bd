"""An error has a message for a person and the facts that support asks for."""

from datetime import UTC, datetime

import pytest

from proofsweep.domain.errors import CallFailed, ProofsweepError, RunMustStop, SourceError

RESET = datetime(2026, 12, 1, tzinfo=UTC)
ANSWER = {"stage": "verify", "reason": "http_500", "status": 500, "code": "internal", "request_id": "req-1"}


@pytest.mark.parametrize(
    ("error", "facts"),
    [
        (ProofsweepError("It failed.", run_id="r1"), {"run_id": "r1"}),
        (SourceError("The file is gone.", reason="missing_audio"), {"reason": "missing_audio"}),
        (CallFailed("The call failed.", **ANSWER), ANSWER),
        (
            RunMustStop("The quota is used up.", ended_by="quota", quota_reset=RESET),
            {"ended_by": "quota", "quota_reset": RESET},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_keeps_its_message_and_its_facts(error: ProofsweepError, facts: dict[str, object]) -> None:
    """The message is the text of the exception; a log or a report reads the facts."""
    assert str(error) == error.message
    assert error.facts == facts


def test_a_message_is_one_line() -> None:
    """It quotes names and answers that others wrote, and is shown in many places, Prefect's log among them."""
    error = SourceError("The file a\nb\x1b[2J is gone.", reason="missing_audio")

    assert str(error) == error.message == r"The file a\nb\x1b[2J is gone."
