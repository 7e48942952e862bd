"""Every reason comes with what a person does about it."""

import pytest

from proofsweep.contract.verdicts import Verdict
from proofsweep.domain.reasons import REMEDIES, Reason, remedy_for


def test_every_reason_and_every_bad_verdict_has_a_remedy() -> None:
    """The summary at a run's end has a clause for each kind."""
    assert set(REMEDIES) == {*Reason, *Verdict} - {Verdict.VALID}


@pytest.mark.parametrize("reason", ["http_422", "a_future_slug", ""])
def test_a_reason_that_we_have_no_word_for_gets_the_general_one(reason: str) -> None:
    """Statuses are reasons too, and there are many."""
    assert remedy_for(reason).startswith("verify again")


def test_a_remedy_is_found_by_the_slug_in_the_table() -> None:
    """Columns hold text, not members of an enumeration."""
    assert remedy_for("audioChanged") == REMEDIES[Verdict.AUDIO_CHANGED]
    assert remedy_for("not_wav") == REMEDIES[Reason.NOT_WAV]
