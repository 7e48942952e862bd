"""The service's answer becomes an acceptance or a rejection, and nothing else."""

import pytest

from proofsweep.domain.models import VerifyResponse
from proofsweep.domain.outcomes import Accepted, Answer, Rejected, outcome_of
from proofsweep.domain.reasons import Reason


def answer(*, good: bool, verdict: str) -> Answer:
    """Make an answer to POST /verify."""
    return Answer(VerifyResponse.model_validate({"good": good, "verdict": verdict}), "00")


def test_only_true_and_valid_is_an_acceptance() -> None:
    """Both signals agree."""
    valid = answer(good=True, verdict="valid")

    assert outcome_of(valid) == Accepted(valid)


@pytest.mark.parametrize(
    ("good", "verdict", "reason", "action"),
    [
        (False, "audioChanged", "audioChanged", "request_matching_pair"),
        (False, "tampered", "tampered", "reject"),
        (False, "unregistered", "unregistered", "reject"),
        (False, "unreadable", "unreadable", "reject"),
        (False, "local_seal", "local_seal", "do_not_accept_as_issued"),
        (False, "valid", "contradictory_answer", "reject"),
        (True, "tampered", "contradictory_answer", "reject"),
        (True, "local_seal", "contradictory_answer", "reject"),
        (True, "quantumSealed", "unknown_verdict", "reject"),
        (False, "quantumSealed", "unknown_verdict", "reject"),
        (False, "AudioChanged", "unknown_verdict", "reject"),
        (False, "", "unknown_verdict", "reject"),
        *((False, reason, "unknown_verdict", "reject") for reason in Reason),
    ],
)
def test_every_other_answer_is_a_rejection_with_its_reason(good: bool, verdict: str, reason: str, action: str) -> None:
    """A known verdict is its own reason; an unknown or contradictory answer has one of ours."""
    outcome = outcome_of(answer(good=good, verdict=verdict))

    assert isinstance(outcome, Rejected)
    assert (outcome.reason, outcome.action) == (reason, action)
    assert outcome.answer.response.verdict == verdict
    assert outcome.detail.endswith(".")
