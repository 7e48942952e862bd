"""An item is found by its ID, by its earlier ID and by its location, wherever its rows are."""

import pytest

from proofsweep.errors import ResultsError
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.audit.rows_of_item import planned_rows_of_item, read_object, rows_of_item

from ....worlds.audited_store import NEWEST, TWO_LEGS


@pytest.mark.parametrize("item", ["e", "/c/e"])
def test_the_rows_of_an_item_are_found(results: Results, item: str) -> None:
    """In the parts and in the plans."""
    (answered,) = rows_of_item(results, item)
    (planned,) = planned_rows_of_item(results, item, [TWO_LEGS, NEWEST])

    assert (TWO_LEGS in answered.name, answered.places) == (True, [0])
    assert (planned.name, planned.places) == (f"_runs/{TWO_LEGS}/shards/00000.parquet", [4])


def test_a_damaged_part_is_one_line(results: Results) -> None:
    """It says what to restore."""
    with pytest.raises(ResultsError, match=r"^verdicts/none in the results store .* is missing or damaged"):
        read_object(results, "verdicts/none")
