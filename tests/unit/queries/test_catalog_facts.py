"""The facts of a catalog page are the view `catalog`, counted."""

from collections.abc import Iterator
from datetime import date

import pytest

from proofsweep.queries.catalog import CatalogFacts, PageChoice, catalog_facts
from proofsweep.queries.connection import answering
from proofsweep.store.parts import Results

from ...worlds import five_nights
from ...worlds.ended_nights import ACCEPTED, FAILED, MONDAY, REJECTED, TUESDAY, WEDNESDAY, night

LAST = five_nights.NIGHTS[-1].run_id


@pytest.fixture
def filled(results: Results) -> Results:
    """Five nights."""
    return five_nights.fill(results)


@pytest.fixture
def facts(filled: Results) -> Iterator[CatalogFacts]:
    """The facts after them."""
    with catalog_facts(filled, "beta", PageChoice(tags=["supplier", "release"]), [LAST]) as found:
        yield found


def test_counts_agree_with_coverage_and_with_one_another(facts: CatalogFacts, filled: Results) -> None:
    """All files, each catalog's, and those of all values of a tag."""
    counts, by_tag = facts.counts(), facts.by_tag("supplier")
    query = (
        "SELECT files, covered, accepted, rejected, failed, ineligible, not_sent, gone, need_attention FROM coverage"
    )
    with answering(filled, "beta", "coverage") as connection:
        coverage = connection.execute(query).fetchall()

    names = ("files", "covered", "accepted", "rejected", "failed", "ineligible", "not_sent", "gone", "need_attention")
    assert coverage == [tuple(getattr(counts, name) for name in names)]
    assert facts.by_catalog() == [("/c", counts)]
    assert sum(each.counts.files for each in by_tag.values) == counts.files
    assert sum(each.counts.need_attention for each in by_tag.values) == counts.need_attention
    assert sum(kind.files for kind in facts.kinds()) == counts.need_attention


def test_what_turned_in_the_last_run_has_its_names(facts: CatalogFacts) -> None:
    """And what is wrong now, or was before."""
    broken, fixed = (facts.turned("changed", change) for change in ("broken", "fixed"))

    assert (broken.files, fixed.files) == (3, 3)
    assert {row.why for row in broken.shown} >= {"the credential in the file cannot be read"}
    assert all(row.name.endswith(".wav") and row.values for row in fixed.shown)
    by_tag = facts.by_tag("supplier")
    assert (sum(each.broken for each in by_tag.values), sum(each.fixed for each in by_tag.values)) == (3, 3)


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
