"""The facts of pages: how the catalogs stand and went night by night, and what a run did."""

import os
from datetime import UTC, date, datetime

import pytest

from proofsweep.queries.night_standing import BEFORE_ALL
from proofsweep.queries.page_facts import OpenSince, PageFacts, catalog_facts, run_facts
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

from ...worlds import five_nights
from ...worlds.core import prune_old
from ...worlds.ended_nights import ACCEPTED, FAILED, MONDAY, REJECTED, TUESDAY, night
from ...worlds.ended_runs import answered, end_leg, plan_of_run


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> PageFacts:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _file: None)
        results = five_nights.fill(Results(FolderStore(tmp_path_factory.mktemp("nights"))))
        return catalog_facts(results, "beta", tags=["supplier", "release"])


def test_the_values_that_need_most_come_first(facts: PageFacts) -> None:
    needs = [counts.need_attention for _, counts in facts.tables["release"]]

    assert (needs, len(needs)) == (sorted(needs, reverse=True), 100)


def test_a_supplier_whose_files_have_all_left_has_no_line(results: Results) -> None:
    old, new = ({"tags": f'{{"supplier": "{name}"}}'} for name in ("Old", "New"))
    night(results, MONDAY, {"a": ACCEPTED | old, "b": REJECTED | new})
    night(results, TUESDAY, {"b": REJECTED | new})

    facts = catalog_facts(results, "beta")

    assert [value for value, _ in facts.tables["supplier"]] == ["New"]


def test_files_have_their_isrc_and_artist_beside_the_tags_that_are_asked_for(facts: PageFacts) -> None:
    [group, *_] = facts.groups

    assert facts.tags == ["supplier", "release", "isrc", "artist"]
    assert (len(group.files[0].tags), group.files[0].tags[2:]) == (4, ["QZNUL2600019", "Artist Number 19"])
    assert {change: of_kind.files for change, of_kind in facts.changes.items()} == {"broken": 3, "fixed": 3}
    assert facts.changes["broken"].shown[0].tags[3] == "Artist Number 19"


def test_what_is_gone_and_new_is_named(results: Results) -> None:
    night(results, MONDAY, {"a": ACCEPTED, "b": REJECTED})
    night(results, TUESDAY, {"a": ACCEPTED, "c": FAILED})

    changes = catalog_facts(results, "beta").changes

    named = {
        change: [(each.item_id, each.outcome, each.reason) for each in found.shown] for change, found in changes.items()
    }
    assert named == {"gone": [("b", "rejected", "tampered")], "new": [("c", "failed", "timeout")]}


def _changed(results: Results) -> dict[str, list[str]]:
    changes = catalog_facts(results, "beta").changes
    assert all(found.files == len(found.shown) for found in changes.values())
    return {change: [each.item_id for each in found.shown] for change, found in changes.items()}


def test_what_changed_is_told_of_all_runs_of_the_newest_night(results: Results) -> None:
    """Passes over a watched folder each take other files; a file that broke and was mended again is as it was."""
    passes = {"catalog_kind": "ingest", "catalog": "/d"}
    night(results, "20261116T020000Z_000aa", {"a": ACCEPTED, "b": ACCEPTED, "c": REJECTED}, **passes)
    night(results, "20261117T020000Z_000aa", {"d": ACCEPTED, "a": REJECTED, "b": REJECTED}, **passes)
    night(results, "20261117T021000Z_000aa", {"e": FAILED, "a": ACCEPTED, "c": REJECTED}, **passes)
    night(results, "20261117T022000Z_000aa", {"c": ACCEPTED, "f": FAILED, "e": ACCEPTED}, **passes)

    assert _changed(results) == {"new": ["d", "e", "f"], "broken": ["b"], "fixed": ["c"]}


def test_a_night_that_finished_a_run_and_began_another_tells_of_both(results: Results) -> None:
    """What a later run of the night found to be gone is gone, or never was there if the night itself had found it."""
    night(results, MONDAY, {"a": ACCEPTED, "b": ACCEPTED})
    night(results, "20261117T020000Z_000aa", {"a": REJECTED, "b": ACCEPTED, "c": ACCEPTED, "d": ACCEPTED})
    night(results, "20261117T030000Z_000aa", {"e": ACCEPTED}, skipped=2, listed=["a", "c", "e"])
    missing = _changed(results)
    night(results, "20261117T040000Z_000aa", {"c": REJECTED, "e": ACCEPTED})

    assert missing == {"new": ["c", "e"], "broken": ["a"], "gone": ["b"]}
    assert _changed(results) == {"new": ["c", "e"], "gone": ["a", "b"]}


def test_a_file_of_two_catalogs_changed_once(results: Results) -> None:
    """Their runs took turns in the night; what the other catalog has is not gone."""
    night(results, MONDAY, {"a": ACCEPTED, "b": ACCEPTED}, catalog="/c/one.csv")
    night(results, "20261117T020000Z_000aa", {"a": REJECTED, "b": ACCEPTED}, catalog="/c/one.csv")
    night(results, "20261117T030000Z_000aa", {"a": REJECTED, "c": ACCEPTED, "b": REJECTED}, catalog="/c/two.csv")
    night(results, "20261117T040000Z_000aa", {"a": REJECTED, "c": ACCEPTED}, catalog="/c/one.csv")

    assert _changed(results) == {"new": ["c"], "broken": ["a", "b"]}


def test_the_runs_of_a_day_are_one_night(results: Results) -> None:
    """Passes too, and each file counts once. Another environment's or catalog's, and what was asked again, are none."""
    for run_id, facts in {
        "20261119T020000Z_000aa": {"catalog_kind": "ingest"},
        "20261120T020000Z_000aa": {"environment": "production"},
        "20261121T020000Z_000aa": {"catalog": "/d"},
        "20261122T020000Z_000aa": {},
        "20261122T220000Z_000aa": {},
        "20261123T020000Z_000aa": {"selection": "--only tampered"},
    }.items():
        plan = plan_of_run(run_id, 1, **facts)  # type: ignore[arg-type]  # the test's own words
        end_leg(results, plan, [answered(plan, 0, "a")])
    results.write_plan(plan_of_run("20261125T020000Z_000aa", 1))

    every = catalog_facts(results, "beta").nights
    own = catalog_facts(results, "beta", "/c/x/../catalog.csv").nights

    assert [(night.day.day, night.found.total()) for night in every] == [(19, 1), (21, 1), (22, 1)]
    assert [(night.day.day, night.found.total()) for night in own] == [(19, 1), (22, 1)]


def test_a_night_has_the_rows_of_all_legs_of_its_runs(results: Results) -> None:
    """One was stopped and resumed twice; of another the first leg was killed, so that it has rows and no receipt.

    What the last one did not reach is told apart.
    """
    stopped, killed, cut = (plan_of_run(f"202611{day}T020000Z_000aa", 6) for day in (16, 17, 18))
    for leg, items in enumerate(("ab", "c", "def"), start=1):
        rows = [answered(stopped, "abcdef".index(item), item) for item in items]
        end_leg(results, stopped, rows, leg, "stopped" if leg < 3 else "complete")
    end_leg(results, killed, [answered(killed, 0, "a"), answered(killed, 1, "b", "rejected")])
    results.store.delete(f"_runs/{killed.run_id}/legs/001/receipt.json")
    end_leg(results, killed, [answered(killed, row, "abcdef"[row]) for row in range(2, 6)], 2, remaining=0)
    end_leg(results, cut, [answered(cut, 0, "a", "failed")], ended_by="window")

    nights = catalog_facts(results, "beta").nights

    assert [(night.day.day, +night.found, night.left) for night in nights] == [
        (16, {"accepted": 6}, 0),
        (17, {"accepted": 5, "rejected": 1}, 0),
        (18, {"failed": 1}, 5),
    ]


def a_month(results: Results) -> None:
    """Two lists with nights at all distances: some of what is due, a file that is gone, one that is asked for again."""
    night(results, "20261101T020000Z_000aa", {"a": ACCEPTED, "b": REJECTED, "c": REJECTED, "d": ACCEPTED})
    night(results, "20261102T020000Z_000aa", {"x": FAILED, "y": ACCEPTED}, catalog="/c/other.csv")
    night(results, "20261109T020000Z_000aa", {"b": ACCEPTED, "c": FAILED}, listed=["a", "b", "c"], skipped=1)
    night(results, "20261122T020000Z_000aa", {"a": REJECTED, "b": ACCEPTED}, remains=["c"])
    again = {"selection": "--only timeout", "skipped": 1, "listed": ["x", "y"]}
    night(results, "20261123T020000Z_000aa", {"x": ACCEPTED}, catalog="/c/other.csv", **again)  # type: ignore[arg-type]


def test_each_night_is_as_it_was_with_all_files_of_all_catalogs(results: Results) -> None:
    """What no run asked for keeps its answer; what is gone counts until the night that found it gone."""
    a_month(results)

    nights = catalog_facts(results, "beta").nights

    assert [(night.day.day, night.found.total(), night.standing) for night in nights] == [
        (1, 4, (4, 2)),
        (2, 2, (6, 3)),
        (9, 2, (5, 3)),
        (22, 2, (5, 2)),
    ]


def test_a_file_is_open_since_no_row_of_it_was_accepted(results: Results) -> None:
    """Whatever kept it from being accepted since."""
    a_month(results)

    facts = catalog_facts(results, "beta")

    days = {file.item_id: file.day for group in facts.groups for file in group.files}
    assert days == {"a": date(2026, 11, 22), "c": date(2026, 11, 1)}
    assert facts.open_since == OpenSince(oldest=date(2026, 11, 1), newly=1, known=2)


@pytest.mark.parametrize("day", [MONDAY, "20261117T010000Z_000aa"])
def test_answers_of_a_retired_list_are_those_of_the_files_that_another_lists(results: Results, day: str) -> None:
    """On the day of the other list's night too; what no list has any more is in no count."""
    night(results, day, {"a": ACCEPTED, "b": REJECTED, "c": FAILED, "old": REJECTED}, catalog="/c/november.csv")
    new = {"d": REJECTED, "e": ACCEPTED}
    listed = ["a", "b", "c", "d", "e"]
    night(results, TUESDAY, new, catalog="/c/december.csv", skipped=3, listed=listed)
    results.log.retire("beta", "/c/november.csv", datetime(2026, 11, 24, tzinfo=UTC))

    facts = catalog_facts(results, "beta")

    is_same = day != MONDAY
    assert [(night.found.total(), night.standing) for night in facts.nights] == [(2, (5, 2))]
    assert (facts.counts.files, facts.counts.accepted, facts.counts.need_attention) == (5, 2, 3)
    assert (facts.open_since.known, facts.open_since.newly) == (3, 3 if is_same else 1)
    own = catalog_facts(results, "beta", "/c/december.csv")
    assert (own.nights, own.open_since) == (facts.nights, facts.open_since)


def test_what_was_open_before_the_nights_that_are_shown_is_told_from_them(results: Results) -> None:
    night(results, "20260901T020000Z_000aa", {"a": ACCEPTED, "b": REJECTED})
    for day in range(1, 32):
        night(results, f"202610{day:02}T020000Z_000aa", {"c": ACCEPTED}, catalog="/c/other.csv")

    facts = catalog_facts(results, "beta")

    assert [file.day for group in facts.groups for file in group.files] == [BEFORE_ALL]
    assert [night.standing for night in facts.nights] == [(3, 2)] * 31


def test_the_nights_of_pruned_runs_are_known_by_their_receipts_alone(results: Results) -> None:
    """How files stood then is not known any more; from the next run of the catalog on it is."""
    for day in (10, 20, 25):
        night(results, f"202611{day}T020000Z_000aa", {"a": ACCEPTED, "b": REJECTED}, is_noted=True)
    prune_old(results, 10, datetime(2026, 11, 25, tzinfo=UTC))

    nights = catalog_facts(results, "beta").nights

    assert [(night.day.day, night.found.total(), night.standing) for night in nights] == [
        (10, 2, None),
        (20, 2, (2, 1)),
        (25, 2, (2, 1)),
    ]


def test_what_a_pruned_run_of_a_retired_list_had_is_not_known_of_the_nights_of_others(results: Results) -> None:
    """Until a night of another list leaves nothing out: so each file that it lists has a newer row."""
    old = {"catalog": "/c/october.csv"}
    night(results, "20261108T020000Z_000aa", {"a": REJECTED}, is_noted=True, **old)
    listed = {"catalog": "/c/november.csv", "skipped": 1, "listed": ["a", "b"], "is_noted": True}
    for day in (12, 16):
        night(results, f"202611{day}T020000Z_000aa", {"b": ACCEPTED}, **listed)
    night(results, "20261120T020000Z_000aa", {"a": ACCEPTED, "b": ACCEPTED}, catalog="/c/november.csv", is_noted=True)
    results.log.retire("beta", "/c/october.csv", datetime(2026, 11, 9, tzinfo=UTC))
    before = [night.standing for night in catalog_facts(results, "beta").nights]
    prune_old(results, 15, datetime(2026, 11, 25, tzinfo=UTC))

    nights = catalog_facts(results, "beta").nights

    assert before == [(2, 1), (2, 1), (2, 2)]
    assert [(night.day.day, night.standing) for night in nights] == [(12, None), (16, None), (20, (2, 2))]


def test_a_catalog_has_its_own_counts_and_a_retired_one_its_name_alone(results: Results) -> None:
    """So a list that nobody verifies any more is seen, and what only it has."""
    a_month(results)
    night(results, "20261103T020000Z_000aa", {"z": REJECTED}, catalog="/c/old.csv")
    night(results, "20261104T020000Z_000aa", {"z": REJECTED}, catalog="/c/old.csv", environment="production")
    results.log.retire("beta", "/c/old.csv", datetime(2026, 11, 24, tzinfo=UTC))

    facts = catalog_facts(results, "beta")

    told = [(each.location, each.counts.files, each.own, each.counts.gone, each.last.day) for each in facts.catalogs]
    assert told == [("/c/catalog.csv", 3, 3, 1, 22), ("/c/other.csv", 2, 2, 0, 2)]
    assert facts.retired == [("/c/old.csv", date(2026, 11, 24))]
    assert (facts.counts.files, [file.item_id for file in facts.unlisted["gone"].shown]) == (5, ["d"])


def test_a_catalog_has_none_of_the_files_of_another_name(results: Results) -> None:
    """The same list was verified under two names, with other rows each."""
    night(results, MONDAY, {"a": ACCEPTED, "b": REJECTED}, catalog="/m/list.csv", catalog_identity="autumn")
    night(results, TUESDAY, {"c": ACCEPTED}, catalog="/m/list.csv", catalog_identity="winter")

    assert [catalog_facts(results, "beta", name).counts.files for name in ("autumn", "winter")] == [2, 1]


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([0.05, 0.93, 1.0], [("ai", 0.1, 0, 1), ("ai", 0.1, 9, 2)]),
        ([0.3, 0.6, 0.7], [("ai", 0.1, 3, 1), ("ai", 0.1, 6, 1), ("ai", 0.1, 7, 1)]),
        ([0.2, 0.6, 1.4], [("ai", 0.2, 1, 1), ("ai", 0.2, 3, 1), ("ai", 0.2, 7, 1)]),
        ([12.0, 55.0, 87.0, 87.0], [("ai", 10.0, 1, 1), ("ai", 10.0, 5, 1), ("ai", 10.0, 8, 2)]),
        ([-3.0, float("inf"), 4.0], [("ai", 1.0, -3, 1), ("ai", 1.0, 4, 1)]),
        ([], []),
    ],
)
def test_grades_of_any_range_are_drawn_as_they_are(
    results: Results, values: list[float], drawn: list[tuple[str, float, int, int]]
) -> None:
    """Tenths of what lies between 0 and 1, else round steps over the whole range."""
    rows = {f"f{at}": ACCEPTED | {"grade_ai": value} for at, value in enumerate(values or [None])}
    plan = night(results, MONDAY, rows)

    assert run_facts(results, plan.run_id).grades == drawn
