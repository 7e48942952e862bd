"""The listing of a whole catalog, and what is gone since the last one."""

from io import BytesIO

import pyarrow.parquet as pq
import pytest

from proofsweep.domain.items import WorkItem
from proofsweep.domain.runs import INGEST, Plan
from proofsweep.store import layout, listings
from proofsweep.store.listings import Listing, write_gone
from proofsweep.store.parts import Results

from ...worlds.core import StoredRun
from ...worlds.ended_runs import plan_of_run

FIRST, SECOND, THIRD = (f"202611{day}T020000Z_000aaaaaa" for day in (16, 17, 18))


def planned(results: Results, run_id: str, items: str, listed: str = "", **cells: object) -> Plan:
    """Leave the plan of a run behind, with what it lists."""
    plan = plan_of_run(run_id, len(items), skipped=max(0, len(listed) - len(items)), **cells)
    run = StoredRun(results, plan)
    run.write_items(items)
    if listed:
        run.list_catalog(listed, notes_gone=False)
    run.write_plan()
    return plan


def listing_of(items: str) -> Listing:
    listing = Listing()
    for number, item in enumerate(items):
        listing.add(WorkItem(manifest_row=number, item_id=item, audio=f"/c/{item}", tags_json='{"a": "b"}'))
    return listing


def gone(results: Results, run_id: str) -> list[str]:
    content = results.store.read(layout.items_name(run_id, 0, "gone"))
    return [] if content is None else pq.read_table(BytesIO(content))["item_id"].to_pylist()


def test_items_come_back_in_order_over_several_objects(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """With their tags and locations, and as often as they are listed."""
    monkeypatch.setattr(listings, "_OBJECT_ROWS", 4)

    listing_of("abcdefgha").write(results, FIRST)

    names = results.store.names(layout.items_folder(FIRST, "listed"))
    tables = [pq.read_table(BytesIO(results.store.read(name) or b"")) for name in names]
    assert [table.num_rows for table in tables] == [4, 4, 1]
    assert "".join(item for table in tables for item in table["item_id"].to_pylist()) == "abcdefgha"
    assert tables[2].select(["audio", "tags"]).to_pylist() == [{"audio": b"/c/a", "tags": '{"a": "b"}'}]


def test_what_the_listing_before_had_is_gone(results: Results) -> None:
    """That of the same catalog and environment, also of a run that left rows out; parts of a catalog list nothing."""
    planned(results, FIRST, "abcd")
    planned(results, SECOND, "b", listed="abce")
    planned(results, THIRD, "z", catalog_kind=INGEST)

    for run_id, items, environment in (("x", "ab", "beta"), ("y", "abce", "beta"), ("z", "ab", "production")):
        write_gone(results, run_id, listing_of(items), environment, "/c/catalog.csv")

    assert [gone(results, run_id) for run_id in "xyz"] == [["c", "e"], [], []]
