"""The items of a whole catalog, packed."""

from io import BytesIO

import pyarrow.parquet as pq

from proofsweep.store.plans_and_parts import ListedItems


def test_items_come_back_in_order_and_as_often_as_they_are_listed() -> None:
    """Also more than are packed at once."""
    listed = ListedItems()
    items = [f"item {number // 2}" for number in range(25_000)]
    for item in items:
        listed.add(item)

    table = pq.read_table(BytesIO(listed.content()))

    assert table["item_id"].to_pylist() == items
    assert listed.rows == 25_000
