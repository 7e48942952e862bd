"""The facts of pages: the view `catalog`, counted, and how the nights of a run or a catalog went."""

from collections.abc import Iterator
from datetime import date

import pytest

from proofsweep.queries.catalog import CatalogFacts, PageChoice, catalog_facts, shown_name
from proofsweep.queries.nights import measures_of, nights_of
from proofsweep.store.parts import Results

from ...worlds import five_nights
from ...worlds.ended_nights import ACCEPTED, FAILED, MONDAY, REJECTED, TUESDAY, WEDNESDAY, night
from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ...worlds.reported_store import PLAN, fill

LAST = five_nights.NIGHTS[-1].run_id


@pytest.fixture
def filled(results: Results) -> Results:
    return five_nights.fill(results)


@pytest.fixture
def facts(filled: Results) -> Iterator[CatalogFacts]:
    with catalog_facts(filled, "beta", PageChoice(tags=["supplier", "release"]), [LAST]) as found:
        yield found


def test_the_values_that_need_most_come_first(facts: CatalogFacts) -> None:
    """A page names a hundred of them; all are counted."""
    releases = facts.by_tag("release")

    needs = [each.counts.need_attention for each in releases.values]
    assert needs == sorted(needs, reverse=True)
    assert all((each.oldest is not None) == bool(each.counts.need_attention) for each in releases.values)
    assert (len(releases.values), releases.left_out) == (100, 0)


@pytest.mark.parametrize(("day", "broken", "fixed"), [(20, 3, 3), (19, 3, 6), (17, 3, 12), (16, 0, 0)])
def test_what_turned_since_a_day_is_told_by_its_ends(filled: Results, day: int, broken: int, fixed: int) -> None:
    """What broke and was mended between is neither; before the first night there is nothing to compare with."""
    choice = PageChoice(since=date(2026, 11, day))

    with catalog_facts(filled, "beta", choice, [LAST]) as found:
        assert found.turned("changed_since", "broken").files == broken
        assert found.turned("changed_since", "fixed").files == fixed


def test_a_reject_is_open_since_it_was_first_rejected(results: Results) -> None:
    """An acceptance between begins anew, a night without an answer does not."""
    a, b = ({"tags": f'{{"supplier": "{name}"}}'} for name in ("A", "B"))
    night(results, MONDAY, {"a": REJECTED | a, "b": REJECTED | b, "c": ACCEPTED})
    night(results, TUESDAY, {"a": FAILED | a, "b": ACCEPTED | b, "c": ACCEPTED})
    night(results, WEDNESDAY, {"a": REJECTED | a, "b": REJECTED | b, "c": ACCEPTED})

    with catalog_facts(results, "beta", PageChoice(tags=["supplier"]), [WEDNESDAY]) as found:
        values = found.by_tag("supplier").values

    days = {each.value: each.oldest.strftime("%A") for each in values if each.oldest is not None}
    assert days == {"A": "Monday", "B": "Wednesday"}


@pytest.mark.parametrize(
    ("file", "audio", "shown"),
    [
        ("a/b.wav", "/c/a/b.wav", ("a/", "b.wav")),
        ("b.wav", "/c/b.wav", ("", "b.wav")),
        ("folder/", "/c/folder/", ("", "folder")),
        ("proof:P-1", "proof:P-1", ("", "item-1")),
        ("", "", ("", "item-1")),
        ("a\u202e\nb.wav", None, ("", "a\\u202e\\nb.wav")),
        ("a/" + "x" * 200, None, ("", "…" + "x" * 120)),
    ],
)
def test_a_name_is_one_line_without_a_proof_id(file: str, audio: str | None, shown: tuple[str, str]) -> None:
    """Of a very long one the end is shown."""
    assert shown_name(file, audio, "item-1") == shown


def test_a_run_is_measured_over_time_and_over_its_rows(results: Results) -> None:
    """Points are at least a second apart; a file that took more than two calls is named."""
    measures = measures_of(fill(results), PLAN)

    assert sum(float(str(point["calls"])) * int(str(point["step"])) for point in measures.pace) == pytest.approx(5)
    assert sum(float(str(point["throttled"])) * int(str(point["step"])) for point in measures.pace) == pytest.approx(1)
    assert sum(float(str(point["failed"])) * int(str(point["step"])) for point in measures.pace) == pytest.approx(1)
    assert {point["verify"] for point in measures.pace} == {10.0, None}
    assert measures.grades == [{"grade": "ai", "tenth": 0.0, "files": 3}, {"grade": "human", "tenth": 0.9, "files": 3}]
    assert measures.classifications == [{"label": "<b>mixed</b>", "files": 3}]
    assert measures.risks == [{"label": "low", "files": 3}]
    assert [row["seconds"] for row in measures.slowest] == [0.2, 0.1]
    assert measures.retried == [{"audio": "/c/4", "calls": 9}]


def test_a_pass_is_a_night(results: Results) -> None:
    """Runs of another environment or catalog, and those that never began, are none here."""
    part = plan_of_run("20261119T020000Z_000aa", 1, catalog_kind="ingest")
    other = plan_of_run("20261120T020000Z_000aa", 1, environment="production")
    elsewhere = plan_of_run("20261121T020000Z_000aa", 1, catalog="/d")
    for plan in (part, other, elsewhere):
        end_leg(results, plan, [answered(plan, 0, "a")])
    results.write_plan(plan_of_run("20261122T020000Z_000aa", 1))

    assert [night.run_id for night in nights_of(results, "beta", None)] == [part.run_id, elsewhere.run_id]
    assert [night.run_id for night in nights_of(results, "beta", part.catalog)] == [part.run_id]
