"""The calls of a row with the same bytes led to the outcome of another."""

from proofsweep.answers.explain.search import rows_of_calls


def test_the_row_that_was_asked_counts_too() -> None:
    """A row that remains, or that was asked itself, has its own calls only."""
    assert rows_of_calls(5, {"answered_by_row": 2}) == {2, 5}
    assert rows_of_calls(5, {"answered_by_row": None}) == {5}
    assert rows_of_calls(5, None) == {5}
