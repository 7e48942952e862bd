"""Every ending of a leg is one entry, and all that ask for it agree."""

from pathlib import Path

import pytest

from proofsweep.alerts.rules import ALERTED_STATES, OF_TYPE_CANCELLED, AlertKind, did_its_work, state_of_ending
from proofsweep.domain.endings import ENDINGS, EndedBy
from proofsweep.store.tables import TABLES

DOCS = Path(__file__).parents[3] / "docs" / "tables.md"


@pytest.mark.parametrize("ended_by", EndedBy)
def test_all_that_ask_for_an_ending_agree(ended_by: EndedBy) -> None:
    """Flow states, alerts, what counts as a success, and the docs."""
    ending = ended_by.ending
    printed = DOCS.read_text("utf-8").partition("<!-- generated: endings -->")[2].partition("<!-- end -->")[0]

    assert ENDINGS[ended_by] is ending
    assert state_of_ending(ended_by) == ending.state
    assert ALERTED_STATES.get(ending.state) == (None if ending.alert is None else AlertKind(ending.alert))
    assert (ending.state in OF_TYPE_CANCELLED) == ending.is_cancelled
    assert did_its_work(ended_by, answered=1, failed=0, ineligible=0) == ending.does_its_work
    assert f"| `{ended_by}` | {ending.meaning} | {ending.exit_code} | `{ending.state}` |" in printed


def test_each_ending_has_its_word_in_the_table() -> None:
    (column,) = (column for column in TABLES["runs"].columns if column.name == "ended_by")

    assert column.meaning.split(", ") == list(EndedBy)
