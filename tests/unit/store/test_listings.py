"""The listing of a whole catalog, and what is gone since the last one."""

from io import BytesIO

import pyarrow.parquet as pq
import pytest

from proofsweep.config.threads import utc_now
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import WorkItem
from proofsweep.domain.runs import INGEST, Plan
from proofsweep.store import layout
from proofsweep.store.listings import Listing, newest_listings, write_gone
from proofsweep.store.parts import Results
from proofsweep.verify.attempt import supersede

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


def test_what_the_listing_before_had_is_gone(results: Results) -> None:
    """That of the same catalog and environment, also of a run that left rows out; parts of a catalog list nothing."""
    planned(results, FIRST, "abcd")
    planned(results, SECOND, "b", listed="abce")
    planned(results, THIRD, "z", catalog_kind=INGEST)

    for run_id, items, environment in (("x", "ab", "beta"), ("y", "abce", "beta"), ("z", "ab", "production")):
        write_gone(results, run_id, listing_of(items), environment, "/c/catalog.csv")

    assert [gone(results, run_id) for run_id in "xyz"] == [["c", "e"], [], []]


def test_a_run_that_was_given_up_lists_nothing(results: Results) -> None:
    """As of a wrong list; one whose rows another run has answered has listed its catalog all the same."""
    listed, given_up = planned(results, FIRST, "abcd"), planned(results, SECOND, "z")
    supersede(results, listed, utc_now)
    supersede(results, given_up, utc_now, is_given_up=True)

    found = newest_listings(results.log.runs().newest_first())

    assert [run.plan.run_id for run in found.values()] == [FIRST]


def test_a_damaged_listing_is_one_clear_line(results: Results) -> None:
    planned(results, FIRST, "ab")
    results.store.replace(name := layout.items_name(FIRST, 0), b"PAR1")

    with pytest.raises(ResultsError, match=rf"^{name} in the results store .* is damaged: [^\n]*$"):
        write_gone(results, "x", listing_of("a"), "beta", "/c/catalog.csv")
