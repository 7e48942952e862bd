"""Each view is one SQL file with its meaning on top; what it answers stands in the files beside this one."""

import json

import pytest

from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import WorkItem
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.queries.connection import opened
from proofsweep.queries.views import NAMES, views
from proofsweep.results import ResultsStore
from proofsweep.store.listings import Listing, write_gone
from proofsweep.store.parts import Results

from ...worlds.ended_nights import ACCEPTED, FAILED, INELIGIBLE, MONDAY, REJECTED, THURSDAY, TUESDAY, WEDNESDAY, night
from ...worlds.ended_runs import exchange, plan_of_run
from ..ended_operations import call_of, leave_operation, operation_named
from ..passes_of_monitoring import leave_pass

NEWEST_ROWS = """
    SELECT item_id, run_id FROM store.newest
    QUALIFY row_number() OVER (
        PARTITION BY environment, item_id ORDER BY answered_at DESC
    ) = 1
"""
"""The newest row of each item, of any outcome."""
CELLS = {name: {"audio_version": "1", "relative_path": name} for name in "abcdef"}
TAGGED = ["verdicts", "latest_answer", "catalog", "rejects", "changes"]
"""The views with tags as columns."""


def test_each_view_says_what_it_is() -> None:
    """Its query does not begin with the comment."""
    assert [view.name for view in views()] == list(NAMES)
    assert all(view.meaning.endswith(".") and not view.query.startswith("--") for view in views())


def asked(results: Results, query: str) -> list[tuple[object, ...]]:
    with opened(results, asked=query) as store:
        return store.execute(query).fetchall()


def pairs(results: Results, query: str = "SELECT item_id, state FROM catalog") -> dict[object, object]:
    return dict(asked(results, query))  # type: ignore[arg-type]  # it gives pairs


def test_a_catalog_is_where_it_lies_or_its_name(results: Results) -> None:
    """However its location is written; a file that two catalogs list is answered in both, and counts once."""
    rows = {"a": ACCEPTED, "b": ACCEPTED}
    night(results, MONDAY, rows | {"gone": ACCEPTED}, catalog="e/../cat1", catalog_identity="/cat1")
    night(results, TUESDAY, rows, catalog="link", catalog_identity="/cat1")
    night(results, WEDNESDAY, rows | {"again": ACCEPTED | {"item_id": "a"}}, catalog="list.csv")

    query = "SELECT catalog, files, answered, accepted, newest_run_id FROM coverage ORDER BY ALL"
    assert asked(results, query) == [("link", 2, 2, 2, TUESDAY), ("list.csv", 2, 2, 2, WEDNESDAY)]


def test_the_totals_tell_a_run_over_a_whole_catalog_from_one_of_chosen_rows(results: Results) -> None:
    """So a question about the last night is not answered by a run of one file that came after it."""
    night(results, MONDAY, {"a": ACCEPTED, "b": REJECTED})
    night(results, TUESDAY, {"b": ACCEPTED}, skipped=1, unmet=1, selection="--only rejected", listed=["a", "b"])
    night(results, WEDNESDAY, {"in": ACCEPTED}, catalog="/in", catalog_kind="ingest")

    newest = "SELECT max(run_id) FROM run_totals WHERE NOT has_chosen_rows"
    assert asked(results, newest) == [(MONDAY,)]


def test_calls_of_operations_are_seen_beside_those_of_runs(results: Results) -> None:
    night(results, MONDAY, {"a": ACCEPTED})
    inventory, elsewhere, monitoring = (
        operation_named("20261116T030000Z_000bb"),
        operation_named("20261116T040000Z_000bb", environment="production"),
        operation_named("20261117T030000Z_000cc", "monitoring"),
    )
    leave_operation(results, inventory, [call_of(inventory, "r-1"), call_of(inventory, "r-2", Call.HEALTH)])
    leave_operation(results, elsewhere, [call_of(elsewhere, "r-9")])
    probes = [call_of(monitoring, "r-3", Call.USAGE, 429), call_of(monitoring, "r-4", Call.HEALTH)]
    leave_pass(results, monitoring.operation_id, probes=probes)

    of_run = exchange(plan_of_run(MONDAY), 0, request_id="r-0")
    results.create_part(f"exchanges/run_date=2026-11-16/{MONDAY}-00000-001.parquet", "exchanges", [of_run])
    assert asked(results, "SELECT request_id, run_id, environment FROM exchanges ORDER BY ALL") == [
        ("r-0", MONDAY, "beta"),
        ("r-1", inventory.operation_id, "beta"),
        ("r-2", inventory.operation_id, "beta"),
    ]
    assert asked(results, "SELECT request_id FROM probes ORDER BY ALL") == [("r-3",), ("r-4",)]


@pytest.mark.parametrize("is_noted", [True, False])
def test_the_newest_answer_is_the_last_one_of_the_service(results: Results, *, is_noted: bool) -> None:
    """Whenever its leg ended."""
    night(results, TUESDAY, {"a": REJECTED, "b": FAILED, "c": ACCEPTED}, is_noted=is_noted)
    night(results, MONDAY, {"a": ACCEPTED, "b": ACCEPTED}, is_noted=is_noted)
    night(results, WEDNESDAY, {"a": FAILED}, is_noted=is_noted)

    newest = pairs(results, "SELECT item_id, run_id FROM latest_answer")
    assert newest == {"a": TUESDAY, "b": MONDAY, "c": TUESDAY}
    assert pairs(results, NEWEST_ROWS) == {"a": WEDNESDAY, "b": TUESDAY, "c": TUESDAY}


def list_later(results: Results, run_id: str, *items: WorkItem, skipped: int = 0) -> None:
    plan = plan_of_run(run_id, 1, skipped=skipped or len(items))
    listing = Listing()
    for item in items:
        listing.add(item)
    write_gone(results, run_id, listing, plan.environment, plan.identity)
    listing.write(results, run_id)
    results.write_plan(plan)


def item(name: str, version: str | None = "1", **cells: object) -> WorkItem:
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
    counts = "files, covered, answered, accepted, rejected, failed, ineligible, not_sent, gone"
    assert asked(results, f"SELECT {counts} FROM coverage") == [(7, 4, 2, 1, 2, 1, 2, 1, 1)]  # noqa: S608 - our own text
    assert asked(
        results, "SELECT item_id, why, file, run_id FROM rejects WHERE outcome = 'ineligible' ORDER BY ALL"
    ) == [("d", "empty", "d", MONDAY), ("h", "missing_audio", "h", None)]


def test_what_is_gone_or_has_moved_needs_no_attention(results: Results) -> None:
    """A file that lies under another name now is moved; one that is listed again is there again."""
    sha = {"audio_sha256": "the same"}
    night(results, MONDAY, {"a": REJECTED, "b": REJECTED | sha, "c": REJECTED})
    night(results, TUESDAY, {"new b": REJECTED | sha}, skipped=1, listed=["c", "new b"])

    assert pairs(results) == {"a": "gone", "b": "moved", "c": "rejected", "new b": "rejected"}
    assert asked(results, "SELECT moved_to FROM catalog WHERE item_id = 'b'") == [("new b",)]
    assert asked(results, "SELECT item_id FROM rejects ORDER BY ALL") == [("c",), ("new b",)]

    night(results, WEDNESDAY, {}, skipped=2, listed="ac", remains=[])
    assert pairs(results) == {"a": "rejected", "b": "gone", "c": "rejected", "new b": "gone"}


def test_a_move_has_one_target_wherever_it_is_told(results: Results) -> None:
    """Of copies that move in one night the n-th became the n-th; a copy that was there before is no target."""
    sha = REJECTED | {"audio_sha256": "the same"}
    night(results, MONDAY, {"0": sha, "a1": sha, "a2": sha})
    night(results, TUESDAY, {"0": sha, "b1": sha, "b2": sha})

    moved = {"a1": "b1", "a2": "b2"}
    assert pairs(results, "SELECT before_audio[4:], file FROM changes WHERE cause = 'moved'") == moved
    assert pairs(results, "SELECT item_id, moved_to FROM catalog WHERE state = 'moved'") == moved


def test_files_that_passes_took_are_none_of_a_folder_that_was_verified_once(results: Results) -> None:
    """They were moved away. How they stand is known; what the folder has, its listing says."""
    night(results, MONDAY, {"a": ACCEPTED, "b": REJECTED}, catalog="/drops")
    night(results, TUESDAY, {"a": ACCEPTED, "c": ACCEPTED, "d": REJECTED}, catalog="/drops", catalog_kind="ingest")

    counts = "files, answered, covered, accepted, rejected, need_attention"
    assert asked(results, f"SELECT {counts} FROM coverage") == [(2, 2, 2, 1, 1, 1)]  # noqa: S608 - our own text
    assert pairs(results) == {"a": "accepted", "b": "rejected", "c": "accepted", "d": "rejected"}


def test_what_lies_in_a_folder_that_cannot_be_read_is_not_gone(results: Results) -> None:
    """Its files are not known that night: its rejects stay, for the views and for what a later run compares."""
    there = {f"{name}/x.wav": row for name, row in {"closed": REJECTED, "open": REJECTED, "clos": ACCEPTED}.items()}
    unread = Ineligible(Reason.UNREADABLE_FOLDER, "The folder cannot be read: Permission denied.")
    night(results, MONDAY, there, skipped=1, listed=[*there])

    list_later(results, TUESDAY, item("closed/", None, ineligible=unread))

    states = {"closed/": "ineligible", "closed/x.wav": "rejected", "open/x.wav": "gone", "clos/x.wav": "gone"}
    assert pairs(results) == states
    assert asked(results, "SELECT file FROM rejects ORDER BY ALL") == [("closed/",), ("closed/x.wav",)]
    counts = "files, covered, rejected, ineligible, gone, need_attention"
    assert asked(results, f"SELECT {counts} FROM coverage") == [(2, 2, 1, 1, 2, 2)]  # noqa: S608 - our own text
    assert asked(results, "SELECT item_id FROM store.gone ORDER BY ALL") == [("clos/x.wav",), ("open/x.wav",)]


def test_a_file_lies_where_the_newest_listing_found_it(results: Results) -> None:
    """As after its mount moved, although its answer is of the old place; one that was verified later lies there."""
    places = {name: {"audio": f"/old/{name}", "sidecar": f"/old/{name}.sidecar"} for name in "ab"}
    night(results, MONDAY, {name: ACCEPTED | CELLS[name] | place for name, place in places.items()})
    new = {name: {"audio": f"/new/{name}", "sidecar": f"/new/{name}.sidecar"} for name in "ab"}
    list_later(results, TUESDAY, *(item(name, sidecar_version=None, **new[name]) for name in "ab"))
    night(results, WEDNESDAY, {"b": ACCEPTED | CELLS["b"] | {"audio": "/later/b"}}, catalog_kind="ingest")

    found = asked(results, "SELECT audio, sidecar, is_current FROM catalog ORDER BY item_id")

    assert found == [("/new/a", "/new/a.sidecar", True), ("/later/b", None, False)]


def test_a_file_that_was_delivered_since_it_was_missing_is_not_sent_yet(results: Results) -> None:
    """What was ineligible before is only so as long as the file is the same."""
    night(results, MONDAY, {"a": INELIGIBLE, "b": INELIGIBLE | CELLS["b"]})
    list_later(results, TUESDAY, item("a"), item("b"))

    assert pairs(results) == {"a": "not_sent", "b": "ineligible"}


@pytest.mark.parametrize("is_noted", [True, False])
def test_tags_stay_when_a_later_run_gives_none(results: Results, *, is_noted: bool) -> None:
    """The newest that were given, by the base as by the tail; a listing that gives new ones goes first."""
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


def test_tags_are_columns(results: Results) -> None:
    """A tag with a name that the views need gets one of its own; other names are taken as they are."""
    tags = {"tags": '{"supplier": "North", "outcome": "x", "general_advice": "w", "a/b \\"c\\"": "y", "~": "z"}'}
    night(results, MONDAY, {"a": REJECTED | tags, "b": REJECTED | {"tags": None}, "c": FAILED | tags})
    columns = 'item_id, supplier, tag_outcome, tag_general_advice, "a/b ""c""", "~"'
    cells = ("North", "x", "w", "y", "z")

    for view in TAGGED:
        rows = asked(results, f"SELECT {columns} FROM {view} ORDER BY item_id")  # noqa: S608 - our own names
        of_failed = [] if view == "latest_answer" else [("c", *cells)]
        assert (view, rows) == (view, [("a", *cells), ("b", *[None] * 5), *of_failed])


ODD_NAMES = [
    *("Artist's name", 'a"b', "a';--", "*/", "/* tag columns */", "100 %", "a\\b", "two\nlines", "nul\0", "x" * 300),
    *("\N{MUSICAL NOTE}", "{0}", "$1", "?", "a/b~c", "$.*", " Title", "it's rejects"),
]
TAKEN_NAMES = ["tags", "environment", "Item_ID", "state", "sidecar_source", "run_date", "tag_state", "select"]


def test_no_name_of_a_column_breaks_a_view(results: Results) -> None:
    """Whatever a manifest calls it: all views answer, each tag is a column, and under one name in all of them."""
    tags = {name: f"value of {name}" for name in [*ODD_NAMES, *TAKEN_NAMES]}
    expected = {name.replace("\0", "\N{SYMBOL FOR NULL}"): tags[name] for name in ODD_NAMES}
    expected |= {f"tag_{name}": tags[name] for name in TAKEN_NAMES}
    night(results, MONDAY, {"a": REJECTED | {"tags": json.dumps(tags)}})

    with opened(results) as store:
        for view in TAGGED:
            (row,) = store.sql(f"FROM {view}").to_arrow_table().to_pylist()
            assert (view, {name: row.get(name) for name in expected}) == (view, expected)
        assert store.execute("SELECT need_attention FROM coverage").fetchall() == [(1,)]
    odd = ResultsStore(results).table("rejects", columns=[*expected])
    assert odd.to_pylist() == [expected]
    for view in ("rejects", "coverage"):  # with the views that they read alone
        with opened(results, asked=f"FROM {view}") as store:
            assert len(store.execute(f"FROM {view}").fetchall()) == 1


def test_a_tag_that_catalogs_have_is_not_taken_by_our_own_words() -> None:
    """Else a query of one store would name another column in the next."""
    usual = "supplier label release title artist album track genre isrc upc ean grid territory year version language"

    (rejects,) = (view for view in views(usual.split()) if view.name == "rejects")

    assert [name for name in usual.split() if f'AS "{name}"' not in rejects.query] == []


def test_a_clip_is_no_reject(results: Results) -> None:
    """It is ineligible in the catalog, and needs no attention."""
    night(results, MONDAY, {"a": REJECTED, "c": FAILED | {"outcome": "ineligible", "reason": "clip"}})

    assert asked(results, "SELECT item_id FROM rejects") == [("a",)]
    assert asked(results, "SELECT ineligible, need_attention FROM coverage") == [(1, 1)]
