"""A person names a file by what people know of it, and the newest rows are searched for that."""

import json
from dataclasses import replace

import pytest

from proofsweep.domain.items import WorkItem
from proofsweep.queries.search import MOST_LISTED, LikelyItems, searching
from proofsweep.store import schemas
from proofsweep.store.parts import Results
from proofsweep.store.rows import planned_row

from ...worlds.ended_runs import answered, end_leg, plan_of_run

OLD, NEW = (plan_of_run(f"202611{day}T020000Z_000aa", items=4) for day in (19, 20))
TAGS = {
    "a": {"ISRC": "QZ-NUL-26-00017", "title": "Déjà Vu", "UPC": "0840 123"},
    "b": {"isrc": "QZNUL2600018", "title": 'The "Sun"'},
    "c": {"isrc": "QZNUL2600019", "title": "Suns"},
}


@pytest.fixture
def store(results: Results) -> Results:
    """Two runs of three tracks, of which the newer did not answer one."""
    rows = [
        answered(OLD, row, item, audio=f"/c/North/{name}.wav", tags=json.dumps(TAGS[item], ensure_ascii=False))
        for row, (item, name) in enumerate({"a": "01 Dusk", "b": "02 Dawn", "c": "03 Dusk"}.items())
    ]
    end_leg(results, OLD, [row | {"verify_request_id": f"r-{row['item_id']}"} for row in rows])
    end_leg(results, NEW, [rows[2] | answered(NEW, 2, "c", "failed", reason="timeout") | {"audio": rows[2]["audio"]}])
    return results


def found_in(results: Results, wanted: str, oldest: str = "") -> LikelyItems:
    """Search for what a person gives."""
    with searching(results, oldest) as search:
        return search.likely(wanted)


@pytest.mark.parametrize(
    ("wanted", "items"),
    [
        ("/c/North/01 Dusk.wav", "a"),
        ("a", "a"),
        ("r-b", "b"),
        ("North/02 Dawn.wav", "b"),
        ("qznul2600017", "a"),
        ("QZ NUL 26-00018", "b"),
        ("0840-123", "a"),
        ("deja vu", "a"),
        ('the "sun"', "b"),
        ("suns", "c"),
        ("dusk", "ac"),
        ("D\u0061wn", "b"),
        ("sun", "bc"),
        ("QZNUL", "bc"),
        ("isrc", ""),
        ("North", ""),
        ("-", "a"),
        (" ", ""),
    ],
)
def test_a_file_is_found_by_what_people_know(store: Results, wanted: str, items: str) -> None:
    """A whole value goes before a part; the names of tags and of folders are no answer."""
    found = found_in(store, wanted)

    assert [row["item_id"] for row in found.rows] == list(items)
    assert found.items == len(items)
    assert found.only == (items if len(items) == 1 else None)


def test_an_item_is_listed_once_by_its_newest_row(store: Results) -> None:
    """Also if the newest row has no answer; only runs since are searched if a span is given."""
    [row] = found_in(store, "suns").rows

    assert (row["outcome"], row["reason"]) == ("failed", "timeout")
    assert found_in(store, "deja vu", NEW.run_id).items == 0


def test_an_item_that_no_run_has_tried_yet_is_found_by_its_listing(store: Results) -> None:
    """It stands beside those that were answered."""
    plan = replace(NEW, run_id="20261121T020000Z_000aa", items=1)
    item = WorkItem(manifest_row=0, item_id="d", audio="/c/04 D\udcffusk.wav", tags_json='{"isrc": "QZNUL2600020"}')
    rows = [planned_row(item)]
    store.write_shard(plan.run_id, 0, schemas.pa.Table.from_pylist(rows, schema=schemas.ITEMS))
    store.write_plan(plan)

    assert [(row["item_id"], row["outcome"]) for row in found_in(store, "qznul-26-00020").rows] == [("d", "not sent")]
    assert {row["item_id"] for row in found_in(store, "QZNUL").rows} == {"b", "c", "d"}


def test_only_the_first_of_many_are_listed(results: Results) -> None:
    """All are counted."""
    plan = plan_of_run("20261119T020000Z_000aa", items=50)
    end_leg(results, plan, [answered(plan, row, f"{row:02}", tags='{"supplier": "North"}') for row in range(50)])

    found = found_in(results, "north")

    assert (found.items, found.only, len(found.rows)) == (50, None, MOST_LISTED)
    assert found.rows[0]["item_id"] == "00"
