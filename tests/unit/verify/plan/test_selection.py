"""Which rows a run is of, as the options of a command or a schedule say."""

from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.errors import UsageError
from proofsweep.verify.plan.selection import ANY_AGE, Selection

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def test_an_age_says_which_answers_leave_out_their_rows() -> None:
    """By default none does."""
    assert Selection().answered_since(NOW) is None
    assert Selection(max_age="30d").answered_since(NOW) == NOW - timedelta(days=30)
    assert Selection(since_last=True).answered_since(NOW) == ANY_AGE


def test_the_oldest_rows_are_as_many_as_the_calls_are_enough_for() -> None:
    """A file takes two calls, and three are kept to begin."""
    oldest = Selection(oldest_first=True)

    assert [oldest.most_rows(calls) for calls in (103, 1)] == [50, 1]
    assert Selection().most_rows(100) is None


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(since_last=True, max_age="30d"), "not both"),
        (Selection(oldest_first=True), "needs --max-calls"),
        (Selection(max_age="a month"), "time span"),
        (Selection(max_age=""), "time span"),
    ],
)
def test_options_that_contradict_each_other_are_refused(selection: Selection, message: str) -> None:
    """Before anything is read."""
    with pytest.raises(UsageError, match=message):
        selection.refuse_contradictions(None)


def test_a_selection_is_written_as_its_options() -> None:
    """Runs with the same text have chosen their rows alike; a shell would read it so."""
    written = {
        Selection(): "",
        Selection(oldest_first=True, max_age="30d", root="/music"): "--oldest-first --max-age 30d --root /music",
        Selection(reasons=("timeout", "slot_refused")): "--reason timeout --reason slot_refused",
        Selection(root="/my music"): '--root "/my music"',
        Selection(root="/$a's"): "--root '/$a'\\''s'",
    }

    assert {selection: selection.text for selection in written} == written
