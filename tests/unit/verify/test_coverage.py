"""How much of a catalog has a young answer."""

import pytest

from proofsweep.verify.due_rows import Coverage


@pytest.mark.parametrize(
    ("answered", "rows", "percent"), [(0, 0, 0), (0, 3, 0), (2, 3, 66), (999, 1000, 99), (3, 3, 100)]
)
def test_only_a_whole_catalog_is_a_hundred_percent(answered: int, rows: int, percent: int) -> None:
    """The share is rounded down."""
    assert Coverage(rows=rows, answered=answered, max_age="30d").percent == percent


@pytest.mark.parametrize(
    ("max_age", "words"), [("30d", "30 days"), ("1d", "1d"), (" 12h", "12h"), ("1d12h", "1d12h"), ("48h", "2 days")]
)
def test_the_coverage_is_one_sentence(max_age: str, words: str) -> None:
    """With the counts, and the span as a person says it."""
    coverage = Coverage(rows=4_300_000, answered=4_000_000, max_age=max_age)

    assert coverage.sentence == (
        f"93 % of the catalog has an answer younger than {words}: 4,000,000 of 4,300,000 rows."
    )
