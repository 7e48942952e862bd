"""An item is found by what a person has of it."""

import pytest

from proofsweep.domain.layout import exchanges_name
from proofsweep.domain.tables import planned_items, schemas
from proofsweep.errors import ResultsError
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.explain.find_item import find_item

from ...ended_runs import answered, end_leg, plan_of_run
from ...exchange_rows import exchange

OLD, NEW = (plan_of_run(f"202611{day}T020000Z_000aa", items=3) for day in (19, 20))


@pytest.fixture
def store(results: Results) -> Results:
    """Two runs; in the older one a call for the third row led to no outcome."""
    end_leg(results, OLD, [answered(OLD, 0, "a", verify_request_id="r-a"), answered(OLD, 1, "b")])
    end_leg(results, NEW, [answered(NEW, 0, "a"), answered(NEW, 1, "x", audio="/c/two/a")])
    calls = [exchange(OLD, 2, request_id="r-c"), exchange(OLD, None, request_id="r-usage")]
    results.create_part(exchanges_name(OLD.run_id, OLD.run_date, 0, 1), "exchanges", calls)
    third = planned_row_of("c")
    results.write_shard(OLD.run_id, 0, schemas.pa.Table.from_pylist([third], schema=schemas.ITEMS))
    return results


def planned_row_of(item_id: str) -> dict[str, object]:
    """Make the planned row of the third item."""
    row: dict[str, object] = {column.name: None for column in planned_items.COLUMNS}
    return row | {"manifest_row": 2, "item_id": item_id, "audio": b"/c/c"}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("/c/a", "a"), ("b", "b"), ("r-a", "a"), ("two/a", "x"), ("r-c", "c")],
    ids=["location", "item ID or end", "request ID", "end", "request without outcome"],
)
def test_each_name_of_an_item_finds_it(store: Results, wanted: str, found: str) -> None:
    """A location before the end of one, an outcome's request before any other."""
    assert find_item(store, [NEW, OLD], wanted, wanted) == found


def test_an_end_of_several_items_is_refused(results: Results) -> None:
    """The message names them."""
    end_leg(results, NEW, [answered(NEW, row, item, audio=f"/{item}/song.wav") for row, item in enumerate("pq")])

    with pytest.raises(ResultsError, match=r"2 items end in song.wav.*/p/song.wav; /q/song.wav"):
        find_item(results, [NEW], "song.wav", "/here/song.wav")


def test_what_is_unknown_is_named(store: Results) -> None:
    """So is a call that belongs to no file."""
    with pytest.raises(ResultsError, match="nothing is neither an item nor a request"):
        find_item(store, [NEW, OLD], "nothing", "/nothing")
    with pytest.raises(ResultsError, match=f"r-usage is a call of run {OLD.run_id} that belongs to no file"):
        find_item(store, [NEW, OLD], "r-usage", "/r-usage")
