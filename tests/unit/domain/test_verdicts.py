"""Only two signals that agree make an acceptance; everything else is rejected, with its own reason and action."""

import pytest

from proofsweep.domain.models import VerifyResponse
from proofsweep.domain.outcomes import VERDICT_ACTIONS, Answer, Rejected, Verdict, outcome_of
from proofsweep.domain.reasons import Reason

THE_CONTRACT_S_TABLE = {
    "valid": "accept",
    "audioChanged": "request_matching_pair",
    "tampered": "reject",
    "unregistered": "reject",
    "unreadable": "reject",
    "local_seal": "do_not_accept_as_issued",
}


def test_every_verdict_of_the_contract_has_its_action() -> None:
    """The table has the contract's verdicts and no other, each spelled as on the wire."""
    table = {str(verdict): str(action) for verdict, action in VERDICT_ACTIONS.items()}

    assert table == THE_CONTRACT_S_TABLE
    assert set(table) == set(Verdict)


@pytest.mark.parametrize(
    ("good", "verdict", "reason", "action"),
    [
        *((False, verdict, verdict, action) for verdict, action in THE_CONTRACT_S_TABLE.items() if action != "accept"),
        (False, "valid", "contradictory_answer", "reject"),
        (True, "tampered", "contradictory_answer", "reject"),
        (True, "local_seal", "contradictory_answer", "reject"),
        (True, "quantumSealed", "unknown_verdict", "reject"),
        (False, "quantumSealed", "unknown_verdict", "reject"),
        (False, "AudioChanged", "unknown_verdict", "reject"),
        (False, "", "unknown_verdict", "reject"),
        (True, "VALID", "unknown_verdict", "reject"),
        (True, "valid ", "unknown_verdict", "reject"),
        *((False, reason, "unknown_verdict", "reject") for reason in Reason),
    ],
)
def test_every_other_answer_is_a_rejection_with_its_reason(good: bool, verdict: str, reason: str, action: str) -> None:
    """A known verdict is its own reason; an unknown or contradictory answer has one of ours."""
    outcome = outcome_of(Answer(VerifyResponse(good=good, verdict=verdict), "00"))

    assert isinstance(outcome, Rejected)
    assert (outcome.reason, outcome.action) == (reason, action)
    assert outcome.answer.response.verdict == verdict
    assert outcome.detail.endswith(".")
