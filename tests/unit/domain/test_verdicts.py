"""Only two signals that agree make an acceptance; everything else is rejected, with its own action."""

import pytest

from proofsweep.domain.verdicts import VERDICT_ACTIONS, Action, Verdict, action_for, is_accepted, is_contradictory

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
    ("good", "verdict"),
    [
        (False, "valid"),
        (None, "valid"),
        (1, "valid"),
        ("true", "valid"),
        (True, None),
        (True, "VALID"),
        (True, "valid "),
        (True, "tampered"),
        (True, "quantumSealed"),
        (False, "quantumSealed"),
    ],
)
def test_nothing_but_true_and_valid_is_accepted(good: object, verdict: object) -> None:
    """Neither signal is enough alone, and a similar value does not count."""
    assert is_accepted(True, "valid")
    assert not is_accepted(good, verdict)


@pytest.mark.parametrize(
    ("good", "verdict", "contradicts"),
    [
        (True, "valid", False),
        (False, "valid", True),
        (True, "tampered", True),
        (True, "local_seal", True),
        (False, "unreadable", False),
        (True, "quantumSealed", False),
        (False, "quantumSealed", False),
    ],
)
def test_only_a_known_verdict_can_be_contradicted(good: bool, verdict: str, contradicts: bool) -> None:
    """For an unknown verdict we cannot say whether `good` agrees."""
    assert is_contradictory(good, verdict) is contradicts


@pytest.mark.parametrize(
    ("good", "verdict", "action"),
    [
        (True, "valid", Action.ACCEPT),
        (False, "audioChanged", Action.REQUEST_MATCHING_PAIR),
        (False, "local_seal", Action.DO_NOT_ACCEPT_AS_ISSUED),
        (False, "tampered", Action.REJECT),
        (False, "valid", Action.REJECT),
        (True, "audioChanged", Action.REJECT),
        (True, "local_seal", Action.REJECT),
        (True, "quantumSealed", Action.REJECT),
        (False, "audiochanged", Action.REJECT),
    ],
)
def test_a_contradictory_or_unknown_answer_is_rejected(good: bool, verdict: str, action: Action) -> None:
    """An answer that cannot be trusted never leads to a milder action."""
    assert action_for(good, verdict) is action
