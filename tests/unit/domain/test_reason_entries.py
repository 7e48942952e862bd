"""An entry is written for two readers: who looks after the runs, and who never sees a column."""

import pytest

from proofsweep.domain.reasons import REASONS, ReasonEntry
from proofsweep.domain.verdicts import Verdict

# Chosen: what fits on one line of a phone's screen with the number of files.
_LONGEST_CLAUSE = 60
CODES = {*map(str, Verdict), "http", "slot", "asset", "`", "_"}


@pytest.mark.parametrize("entry", REASONS.values(), ids=list(REASONS))
def test_plain_words_need_no_glossary(entry: ReasonEntry) -> None:
    """A short clause, without a code, that goes on in a sentence."""
    assert 0 < len(entry.plain) <= _LONGEST_CLAUSE
    assert entry.plain[0].islower()
    assert not entry.plain.endswith(".")
    assert not [code for code in CODES if code in entry.plain.lower().split()]


def test_no_two_reasons_have_the_same_plain_words() -> None:
    """A reader tells them apart without the code."""
    assert len({entry.plain for entry in REASONS.values()}) == len(REASONS)
