"""The tables are searched for an item, for a call and for a proof, whatever environment it is of."""

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row, WorkItem
from proofsweep.operations.erase import Erasure
from proofsweep.queries.search import LikelyItems, Occurrence, searching
from proofsweep.store import layout, schemas
from proofsweep.store.parts import Results
from proofsweep.store.rows import planned_row
from proofsweep.store.schemas import SCHEMAS
from proofsweep.store.tables import PLANNED_ITEMS

from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ...worlds.exchange_rows import exchange
from ..ended_operations import leave_operation, operation_named

OLD, NEW = (plan_of_run(f"202611{day}T020000Z_000aa", items=3) for day in (19, 20))
FIRST, SECOND = (plan_of_run(f"202611{day}T020000Z_000aa", items=4) for day in (19, 20))
TAGS = {
    "a": {"ISRC": "QZ-NUL-26-00017", "title": "Déjà Vu", "UPC": "0840 123"},
    "b": {"isrc": "QZNUL2600018", "title": 'The "Sun"'},
    "c": {"isrc": "QZNUL2600019", "title": "Suns"},
}


@pytest.fixture
def store(results: Results) -> Results:
    """Two runs; in the older one a call for the third row led to no outcome."""
    end_leg(results, OLD, [answered(OLD, 0, "a", verify_request_id="r-a"), answered(OLD, 1, "b")])
    end_leg(results, NEW, [answered(NEW, 0, "a"), answered(NEW, 1, "x", audio="/c/two/a")])
    calls = [exchange(OLD, 2, request_id="r-c"), exchange(OLD, None, request_id="r-usage")]
    results.create_part(layout.part_name("exchanges", OLD.run_id, OLD.run_date, 0, 1), "exchanges", calls)
    leave_planned(results, "c", 2, OLD.run_id)
    return results


def leave_planned(results: Results, item_id: str, row: int, run_id: str) -> None:
    cells: Row = {column.name: None for column in PLANNED_ITEMS}
    planned = [cells | {"manifest_row": row, "item_id": item_id, "audio": b"/c/c"}]
    results.write_items(run_id, 0, schemas.pa.Table.from_pylist(planned, schema=schemas.ITEMS))


def item_in(results: Results, wanted: str) -> str:
    with searching(results) as search:
        return search.item_of_request(wanted)


def occurrences_in(results: Results, item_id: str) -> list[Occurrence]:
    with searching(results) as search:
        return list(search.occurrences(item_id))


def test_what_is_unknown_is_named(store: Results) -> None:
    """So is a call that belongs to no file; one that led to no outcome leads to its item."""
    assert item_in(store, "r-c") == "c"
    with pytest.raises(ResultsError, match="nothing is neither an item nor a request"):
        item_in(store, "nothing")
    with pytest.raises(ResultsError, match=f"r-usage is a call of run {OLD.run_id} that belongs to no file"):
        item_in(store, "r-usage")


def test_each_run_has_the_calls_for_the_item(results: Results) -> None:
    """Retries and the calls of the row whose answer was used are there, in the order of time; other rows' are not."""
    end_leg(results, OLD, [answered(OLD, 0, "a"), answered(OLD, 1, "b", answered_by_row=0)])
    end_leg(results, NEW, [answered(NEW, 0, "a")])
    calls = [
        exchange(OLD, 0, "verify", 3, status=200, request_id="second"),
        exchange(OLD, 0, "uploads", 1, status=503, request_id="first"),
        exchange(OLD, 7, "verify", 2, request_id="of another row"),
    ]
    results.create_part(layout.part_name("exchanges", OLD.run_id, OLD.run_date, 0, 1), "exchanges", calls)

    (found,) = occurrences_in(results, "b")

    assert (found.plan.run_id, found.manifest_row) == (OLD.run_id, 1)
    assert [call["request_id"] for call in found.exchanges] == ["first", "second"]
    assert found.row is not None
    assert set(found.row) == set(SCHEMAS["verdicts"].names)
    assert set(found.exchanges[0]) == set(SCHEMAS["exchanges"].names)
    assert [each.plan for each in occurrences_in(results, "a")] == [NEW, OLD]


def test_a_row_that_remains_is_found_in_its_plan(results: Results) -> None:
    """Its calls led to no outcome; the support packet needs them."""
    end_leg(results, NEW, [])
    leave_planned(results, "a", 1, NEW.run_id)
    call = exchange(NEW, 1, status=None, failure="timeout")
    results.create_part(layout.part_name("exchanges", NEW.run_id, NEW.run_date, 0, 1), "exchanges", [call])

    (found,) = occurrences_in(results, "a")

    assert (found.manifest_row, found.row) == (1, None)
    assert [call["failure"] for call in found.exchanges] == ["timeout"]
    assert occurrences_in(results, "other") == []


def erasure(proof_id: str, day: int, outcome: str | None = "erased") -> Row:
    at = datetime(2026, 11, day, tzinfo=UTC)
    return asdict(Erasure(proof_id=proof_id, asked_at=at, answered_at=at, outcome=outcome))


def test_only_erasures_of_the_item_s_proofs_in_its_environment_are_found(results: Results) -> None:
    """The newest first; a failed one erased nothing, and another environment has its own proofs."""
    end_leg(results, OLD, [answered(OLD, 0, "a", proof_id="p1"), answered(OLD, 1, "b")])
    rows = [erasure("p1", 20), erasure("p1", 21, "already_erased"), erasure("p1", 22, None), erasure("p2", 20)]
    leave_operation(results, operation_named("20261120T020000Z_000bb", "erasure"), rows={"erasures": rows})
    elsewhere = operation_named("20261123T020000Z_000cc", "erasure", environment="production")
    leave_operation(results, elsewhere, rows={"erasures": [erasure("p1", 23)]})

    with searching(results) as search:
        found = search.erasures("a")
        assert search.erasures("b") == []

    assert [(row["proof_id"], row["outcome"]) for row in found] == [("p1", "already_erased"), ("p1", "erased")]


def test_the_failed_calls_are_given_in_the_order_of_time(results: Results) -> None:
    """No usable answer is a failure, whatever the status says."""
    cells: list[dict[str, object]] = [
        {"status": 200},
        {"status": 429, "error_code": "RATE"},
        {"status": 200, "failure": "bad_answer"},
        {"status": None, "failure": "connection"},
        {"status": None},
    ]
    end_leg(results, OLD, [answered(OLD, 0, "a")])
    calls = [
        exchange(OLD, 0, "verify", 9 - number, request_id=str(number), **each) for number, each in enumerate(cells)
    ]
    results.create_part(layout.part_name("exchanges", OLD.run_id, OLD.run_date, 0, 1), "exchanges", calls)

    with searching(results) as search:
        found = [row["request_id"] for row in search.failed_calls(OLD.run_id)]

    assert found == ["4", "3", "2", "1"]


@pytest.fixture
def tracks(results: Results) -> Results:
    """Two runs of three tracks, of which the newer did not answer one."""
    rows = [
        answered(FIRST, row, item, audio=f"/c/North/{name}.wav", tags=json.dumps(TAGS[item], ensure_ascii=False))
        for row, (item, name) in enumerate({"a": "01 Dusk", "b": "02 Dawn", "c": "03 Dusk"}.items())
    ]
    end_leg(results, FIRST, [row | {"verify_request_id": f"r-{row['item_id']}"} for row in rows])
    end_leg(
        results, SECOND, [rows[2] | answered(SECOND, 2, "c", "failed", reason="timeout") | {"audio": rows[2]["audio"]}]
    )
    return results


def found_in(results: Results, wanted: str, oldest: str = "") -> LikelyItems:
    with searching(results, oldest) as search:
        return search.likely(wanted)


@pytest.mark.parametrize(
    ("wanted", "items"),
    [
        ("/c/North/01 Dusk.wav", "a"),
        ("a", "a"),
        ("r-b", "b"),
        ("North/02 Dawn.wav", "b"),
        ("QZ NUL 26-00018", "b"),
        ("0840-123", "a"),
        ("deja vu", "a"),
        ('the "sun"', "b"),
        ("suns", "c"),
        ("dusk", "ac"),
        ("sun", "bc"),
        ("QZNUL", "bc"),
        ("isrc", ""),
        ("North", ""),
        ("-", "a"),
        (" ", ""),
    ],
)
def test_a_file_is_found_by_what_people_know(tracks: Results, wanted: str, items: str) -> None:
    """A whole value goes before a part; the names of tags and of folders are no answer."""
    found = found_in(tracks, wanted)

    assert [row["item_id"] for row in found.rows] == list(items)
    assert found.items == len(items)
    assert found.only == (items if len(items) == 1 else None)


def test_an_item_is_listed_once_by_its_newest_row(tracks: Results) -> None:
    """Also if the newest row has no answer; only runs since are searched if a span is given."""
    [row] = found_in(tracks, "suns").rows

    assert (row["outcome"], row["reason"]) == ("failed", "timeout")
    assert found_in(tracks, "deja vu", SECOND.run_id).items == 0


def test_an_item_that_no_run_has_tried_yet_is_found_by_its_listing(tracks: Results) -> None:
    """It stands beside those that were answered."""
    plan = replace(SECOND, run_id="20261121T020000Z_000aa", items=1)
    item = WorkItem(manifest_row=0, item_id="d", audio="/c/04 D\udcffusk.wav", tags_json='{"isrc": "QZNUL2600020"}')
    rows = [planned_row(item)]
    tracks.write_items(plan.run_id, 0, schemas.pa.Table.from_pylist(rows, schema=schemas.ITEMS))
    tracks.write_plan(plan)

    assert [(row["item_id"], row["outcome"]) for row in found_in(tracks, "qznul-26-00020").rows] == [("d", "not sent")]
    assert {row["item_id"] for row in found_in(tracks, "QZNUL").rows} == {"b", "c", "d"}
