"""The facts of pages: how the catalogs stand and went night by night, and what a run did."""

import os

import pytest

from proofsweep.queries.catalog import CatalogFacts, catalog_facts
from proofsweep.queries.run_facts import run_facts
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

from ...worlds import five_nights
from ...worlds.ended_nights import ACCEPTED, FAILED, MONDAY, REJECTED, TUESDAY, WEDNESDAY, night
from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ...worlds.reported_store import PLAN, fill


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> CatalogFacts:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _file: None)
        results = five_nights.fill(Results(FolderStore(tmp_path_factory.mktemp("nights"))))
        return catalog_facts(results, "beta", tags=["supplier", "release"])


def test_the_values_that_need_most_come_first(facts: CatalogFacts) -> None:
    """A page names a hundred of them; all are counted."""
    _, releases = facts.tables

    needs = [each.counts.need_attention for each in releases.values]
    assert needs == sorted(needs, reverse=True)
    assert all((each.oldest is not None) == bool(each.counts.need_attention) for each in releases.values)
    assert (len(releases.values), releases.left_out) == (100, 0)


def test_files_have_their_isrc_and_artist_beside_the_tags_that_are_asked_for(facts: CatalogFacts) -> None:
    """Of what needs attention, and of what changed."""
    [group, *_] = facts.groups

    assert facts.tags == ["supplier", "release", "isrc", "artist"]
    assert (len(group.files[0].tags), group.files[0].tags[2:]) == (4, ["QZNUL2600019", "Artist Number 19"])
    assert {change: found.files for change, found in facts.changes.items()} == {"broken": 3, "fixed": 3}
    assert facts.changes["broken"].shown[0].tags[3] == "Artist Number 19"


def test_what_is_gone_and_new_is_named(results: Results) -> None:
    """As it stood, and as it stands."""
    night(results, MONDAY, {"a": ACCEPTED, "b": REJECTED})
    night(results, TUESDAY, {"a": ACCEPTED, "c": FAILED})

    changes = catalog_facts(results, "beta").changes

    named = {
        change: [(each.item_id, each.outcome, each.reason) for each in found.shown] for change, found in changes.items()
    }
    assert named == {"gone": [("b", "rejected", "tampered")], "new": [("c", "failed", "timeout")]}


def test_a_reject_is_open_since_it_was_first_rejected(results: Results) -> None:
    """An acceptance between begins anew, a night without an answer does not."""
    a, b = ({"tags": f'{{"supplier": "{name}"}}'} for name in ("A", "B"))
    night(results, MONDAY, {"a": REJECTED | a, "b": REJECTED | b, "c": ACCEPTED})
    night(results, TUESDAY, {"a": FAILED | a, "b": ACCEPTED | b, "c": ACCEPTED})
    night(results, WEDNESDAY, {"a": REJECTED | a, "b": REJECTED | b, "c": ACCEPTED})

    [table] = catalog_facts(results, "beta", tags=["supplier"]).tables
    values = table.values

    days = {each.value: each.oldest.strftime("%A") for each in values if each.oldest is not None}
    assert days == {"A": "Monday", "B": "Wednesday"}


def test_a_run_is_measured_over_its_rows(results: Results) -> None:
    """What the service reports beside its verdicts, and how the catalog stands after the run."""
    facts = run_facts(fill(results), PLAN.run_id)

    assert [(row["grade"], row["place"], row["step"], row["files"]) for row in facts.grades] == [
        ("ai", 0, 0.1, 3),
        ("human", 9, 0.1, 3),
    ]
    assert facts.labels["Classification"] == [{"label": "<b>mixed</b>", "files": 3}]
    assert facts.labels["Risk category"] == [{"label": "low", "files": 3}]
    assert facts.standing == {"accepted": 3, "files": 6, "need_attention": 2}


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([0.0, 0.25, 1.0], [(0, 0.1), (2, 0.1), (9, 0.1)]),
        ([3.0, 50.0, 97.0], [(0, 10.0), (5, 10.0), (9, 10.0)]),
        ([-1.0, 0.5], [(-5, 0.2), (2, 0.2)]),
        ([float("nan"), 7.0], [(7, 1.0)]),
    ],
)
def test_grades_are_counted_in_the_range_in_which_they_come(
    results: Results, values: list[float], found: list[tuple[int, float]]
) -> None:
    """The contract names none."""
    plan = plan_of_run(MONDAY, len(values))
    end_leg(results, plan, [answered(plan, row, str(row), grade_human=value) for row, value in enumerate(values)])

    grades = run_facts(results, plan.run_id).grades

    assert [(row["place"], row["step"]) for row in grades] == [(place, pytest.approx(step)) for place, step in found]


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

    assert [(night.day.day, night.checked) for night in every] == [(19, 1), (21, 1), (22, 2)]
    assert [(night.day.day, night.checked) for night in own] == [(19, 1), (22, 2)]
