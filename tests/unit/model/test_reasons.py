"""Every reason has a remedy, which says what a person does."""

import pytest

from proofsweep.contract.verdicts import Verdict
from proofsweep.model.reasons import REMEDIES, Reason, remedy_for


def test_every_reason_and_every_bad_verdict_has_a_remedy() -> None:
    """The summary of a run has a clause for each kind of row."""
    assert set(REMEDIES) == {*Reason, *Verdict} - {Verdict.VALID}


@pytest.mark.parametrize("reason", ["http_422", "a_future_slug", ""])
def test_a_reason_without_a_remedy_gets_the_general_one(reason: str) -> None:
    """HTTP statuses are reasons too, and there are many."""
    assert remedy_for(reason).startswith("verify again")


def test_a_remedy_is_found_by_the_slug_in_the_table() -> None:
    """Columns hold text, not members of an enumeration."""
    assert remedy_for("audioChanged") == REMEDIES[Verdict.AUDIO_CHANGED]
    assert remedy_for("not_wav") == REMEDIES[Reason.NOT_WAV]
