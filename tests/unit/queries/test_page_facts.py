"""The facts of pages: how the catalogs stand and went night by night, and what a run did."""

import os

import pytest

from proofsweep.queries.page_facts import PageFacts, catalog_facts, run_facts
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

from ...worlds import five_nights
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


def test_the_runs_of_a_day_are_one_night(results: Results) -> None:
    """Passes too. Those of another environment or catalog, and those that asked for files again, are none here."""
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

    assert [(day.day, rows.total()) for day, rows in every] == [(19, 1), (21, 1), (22, 2)]
    assert [(day.day, rows.total()) for day, rows in own] == [(19, 1), (22, 2)]


def test_a_night_has_the_rows_of_all_legs_of_its_runs(results: Results) -> None:
    """One was stopped and resumed twice; of another the first leg was killed, so that it has rows and no receipt."""
    stopped, killed = (plan_of_run(f"202611{day}T020000Z_000aa", 6) for day in (16, 17))
    for leg, items in enumerate(("ab", "c", "def"), start=1):
        rows = [answered(stopped, "abcdef".index(item), item) for item in items]
        end_leg(results, stopped, rows, leg, "stopped" if leg < 3 else "complete")
    end_leg(results, killed, [answered(killed, 0, "a"), answered(killed, 1, "b", "rejected")])
    results.store.delete(f"_runs/{killed.run_id}/legs/001/receipt.json")
    end_leg(results, killed, [answered(killed, row, "abcdef"[row]) for row in range(2, 6)], 2, remaining=0)

    nights = catalog_facts(results, "beta").nights

    assert [(day.day, +rows) for day, rows in nights] == [
        (16, {"accepted": 6}),
        (17, {"accepted": 5, "rejected": 1}),
    ]


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
