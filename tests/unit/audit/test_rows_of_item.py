"""An item is found by its ID and by its location, wherever its rows are."""

from pathlib import Path

import pytest

from proofsweep.audit.rows_of_item import (
    Found,
    listed_rows_of,
    planned_rows_of_item,
    read_object,
    rows_of_item,
)
from proofsweep.errors import ResultsError
from proofsweep.model.layout import listed_name
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from ...worlds.audited_store import NEWEST, TWO_LEGS, list_items
from ..ended_operations import leave_operation, operation_named
from ..ended_runs import answered, end_leg, plan_of_run


@pytest.mark.parametrize("item", ["e", "/c/e"])
def test_the_rows_of_an_item_are_found(results: Results, item: str) -> None:
    """In the parts and in the plans."""
    (answered,) = rows_of_item(results, item)
    (planned,) = planned_rows_of_item(results, item, [TWO_LEGS, NEWEST])

    assert (TWO_LEGS in answered.name, answered.indexes) == (True, [0])
    assert (planned.name, planned.indexes) == (f"_runs/{TWO_LEGS}/shards/00000.parquet", [4])


def test_an_item_is_found_where_a_catalog_lists_it(results: Results) -> None:
    """A run that left some rows out keeps the items of all."""
    list_items(results, NEWEST, "afeb")
    found = [*rows_of_item(results, "/c/e"), *planned_rows_of_item(results, "/c/e", [TWO_LEGS, NEWEST])]

    assert list(listed_rows_of(results, found, [TWO_LEGS, NEWEST])) == [Found(name=listed_name(NEWEST, 0), indexes=[2])]


def test_items_without_a_proof_id_have_nothing_in_common(tmp_path: Path) -> None:
    """A service may give each rejected one an empty proof ID."""
    results, plan = Results(FolderStore(tmp_path)), plan_of_run("20261120T010000Z_000aa", items=2)
    end_leg(results, plan, [answered(plan, each, f"i{each}", "rejected", proof_id="") for each in range(2)])
    operation = operation_named("20261121T120000Z_000aa", "inventory")
    leave_operation(results, operation, rows={"proofs": [{"proof_id": "", "state": "no_file", "files": 0}]})

    assert [found.name.partition("/")[0] for found in rows_of_item(results, "i0")] == ["verdicts"]


def test_a_damaged_part_is_one_line(results: Results) -> None:
    """It says what to restore."""
    with pytest.raises(ResultsError, match=r"^verdicts/none in the results store .* is missing or damaged"):
        read_object(results, "verdicts/none")
