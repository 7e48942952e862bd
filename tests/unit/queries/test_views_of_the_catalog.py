"""The view `catalog`: each listed item with its newest answer, or why it has none; other views follow it."""

import pytest

from proofsweep.domain.items import WorkItem
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.domain.runs import INGEST
from proofsweep.queries.connection import opened
from proofsweep.store.listings import Listing, write_gone
from proofsweep.store.parts import Results

from ...worlds.ended_nights import ACCEPTED, FAILED, INELIGIBLE, MONDAY, REJECTED, THURSDAY, TUESDAY, WEDNESDAY, night
from ...worlds.ended_runs import plan_of_run

CELLS = {name: {"audio_version": "1", "relative_path": name} for name in "abcdef"}


def asked(results: Results, query: str) -> list[tuple[object, ...]]:
    """Ask one question of the only environment."""
    with opened(results) as store:
        return store.connection.execute(query).fetchall()


def states(results: Results) -> dict[object, object]:
    """Return the state of each item."""
    return dict(asked(results, "SELECT item_id, state FROM catalog"))  # type: ignore[arg-type]  # pairs


def covered(results: Results) -> list[tuple[object, ...]]:
    """Return how many are listed, covered, answered, accepted, rejected, failed, ineligible, not sent and gone."""
    return asked(
        results,
        "SELECT files, covered, answered, accepted, rejected, failed, ineligible, not_sent, gone FROM coverage",
    )


def list_later(results: Results, run_id: str, *items: WorkItem, skipped: int = 0) -> None:
    """Leave a night behind that lists these items, and has sent none."""
    plan = plan_of_run(run_id, 1, skipped=skipped or len(items))
    listing = Listing()
    for item in items:
        listing.add(item)
    write_gone(results, run_id, listing, plan.environment, plan.identity)
    listing.write(results, run_id)
    results.write_plan(plan)


def item(name: str, version: str | None = "1", **cells: object) -> WorkItem:
    """List a file of a version."""
    facts = {"manifest_row": 0, "item_id": name, "audio": f"/c/{name}", "relative_path": name, "audio_version": version}
    return WorkItem(**facts | cells)  # type: ignore[arg-type]  # the test's own words


def test_each_listed_item_has_its_newest_answer_or_why_there_is_none(results: Results) -> None:
    """All states, and what is covered: the answered with this version of the file, and the ineligible."""
    rows = {"a": ACCEPTED, "b": REJECTED, "c": FAILED, "d": INELIGIBLE, "e": ACCEPTED, "f": REJECTED}
    night(results, MONDAY, {name: row | CELLS[name] for name, row in rows.items()})
    refused = Ineligible(Reason.MISSING_AUDIO, "There is no audio at this location.")
    later = [item(name) for name in "bcd"]
    list_later(results, TUESDAY, item("a", "2"), *later, item("f"), item("g"), item("h", None, ineligible=refused))

    found = asked(results, "SELECT item_id, state, is_current, is_covered FROM catalog ORDER BY item_id")

    assert found == [
        ("a", "accepted", False, False),  # it has changed since
        ("b", "rejected", True, True),
        ("c", "failed", False, False),
        ("d", "ineligible", False, True),
        ("e", "gone", False, False),
        ("f", "rejected", True, True),
        ("g", "not_sent", False, False),
        ("h", "ineligible", False, True),
    ]
    assert covered(results) == [(7, 4, 2, 1, 2, 1, 2, 1, 1)]
    assert asked(
        results, "SELECT item_id, why, file, run_id FROM rejects WHERE outcome = 'ineligible' ORDER BY ALL"
    ) == [
        ("d", "empty", "d", MONDAY),
        ("h", "missing_audio", "h", None),
    ]


def test_what_is_gone_or_has_moved_needs_no_attention(results: Results) -> None:
    """A file that lies under another name now is moved; one that is listed again is there again."""
    sha = {"audio_sha256": "the same"}
    night(results, MONDAY, {"a": REJECTED, "b": REJECTED | sha, "c": REJECTED})
    night(results, TUESDAY, {"new b": REJECTED | sha}, skipped=1, listed=["c", "new b"])

    assert states(results) == {"a": "gone", "b": "moved", "c": "rejected", "new b": "rejected"}
    assert asked(results, "SELECT moved_to FROM catalog WHERE item_id = 'b'") == [("new b",)]
    assert asked(results, "SELECT item_id FROM rejects ORDER BY ALL") == [("c",), ("new b",)]

    night(results, WEDNESDAY, {}, skipped=2, listed="ac", remains=[])
    assert states(results) == {"a": "rejected", "b": "gone", "c": "rejected", "new b": "gone"}


def test_an_accepted_file_that_fails_later_keeps_its_answer(results: Results) -> None:
    """It stands as failed, and is covered: its answer is of this version."""
    night(results, MONDAY, {"a": ACCEPTED | CELLS["a"]})
    night(results, TUESDAY, {"a": FAILED | CELLS["a"]})

    assert states(results) == {"a": "failed"}
    assert covered(results) == [(1, 1, 1, 0, 0, 1, 0, 0, 0)]


def test_a_file_that_was_delivered_since_it_was_missing_is_not_sent_yet(results: Results) -> None:
    """What was ineligible before is only so as long as the file is the same."""
    night(results, MONDAY, {"a": INELIGIBLE, "b": INELIGIBLE | CELLS["b"]})
    list_later(results, TUESDAY, item("a"), item("b"))

    assert states(results) == {"a": "not_sent", "b": "ineligible"}


def test_parts_of_a_catalog_use_its_newest_listing(results: Results) -> None:
    """What a pass over a watched folder took, and perhaps moved, is never gone, and its answer counts."""
    night(results, MONDAY, {"a": ACCEPTED, "b": REJECTED})
    night(results, TUESDAY, {"b": ACCEPTED}, catalog_kind=INGEST)
    night(results, WEDNESDAY, {"new": REJECTED}, catalog_kind=INGEST)

    assert states(results) == {"a": "accepted", "b": "accepted", "new": "rejected"}
    assert covered(results) == [(3, 3, 3, 2, 1, 0, 0, 0, 0)]


def test_without_any_listing_each_item_stands_by_its_newest_row(results: Results) -> None:
    """Of a store that only passes over a watched folder have written to."""
    night(results, MONDAY, {"a": ACCEPTED, "b": REJECTED}, catalog_kind=INGEST)

    assert states(results) == {"a": "accepted", "b": "rejected"}
    assert covered(results) == []


@pytest.mark.parametrize("is_noted", [True, False])
def test_tags_stay_when_a_later_run_gives_none(results: Results, *, is_noted: bool) -> None:
    """The newest that were given, by the snapshot as by the rows; a listing that gives new ones goes first."""
    old, new = {"tags": '{"supplier": "Old"}'}, {"tags": '{"supplier": "New"}'}
    night(results, MONDAY, {"a": REJECTED | old, "b": REJECTED | old, "c": ACCEPTED | old}, is_noted=is_noted)
    night(results, TUESDAY, {"a": REJECTED | new, "b": REJECTED, "c": FAILED}, is_noted=is_noted)
    night(results, WEDNESDAY, {"a": REJECTED, "b": REJECTED, "c": FAILED}, is_noted=is_noted)

    query = "SELECT item_id, tags->>'supplier' FROM {} ORDER BY ALL"
    for view in ("catalog", "rejects"):
        assert (view, asked(results, query.format(view))) == (view, [("a", "New"), ("b", "Old"), ("c", "Old")])

    list_later(results, THURSDAY, *(item(name, tags_json='{"supplier": "Newest"}') for name in "abc"))
    assert asked(results, query.format("rejects")) == [("a", "Newest"), ("b", "Newest"), ("c", "Newest")]


def test_a_file_has_its_tags_in_each_catalog_that_lists_it(results: Results) -> None:
    """A manifest gave them, and the folder is verified without the manifest; the newest answer has them too."""
    tagged = {"tags": '{"supplier": "North"}', "audio": "/music/a.wav"}
    night(results, MONDAY, {"isrc": REJECTED | tagged})
    night(results, TUESDAY, {"a.wav": REJECTED | {"audio": "/music/a.wav"}, "b.wav": REJECTED}, catalog="/music")

    for view in ("rejects", "latest_answer"):
        query = f"SELECT item_id, tags->>'supplier' FROM {view} ORDER BY ALL"  # noqa: S608 - our own names
        assert asked(results, query) == [("a.wav", "North"), ("b.wav", None), ("isrc", "North")]
