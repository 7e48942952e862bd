"""Coverage is kept until something changes it, and is what the view says."""

from datetime import timedelta

import pytest

from proofsweep.answers.overview import coverage
from proofsweep.answers.overview.coverage import coverage_of
from proofsweep.answers.views.connection import answering
from proofsweep.model.layout import coverage_name
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.read_only import read_only
from proofsweep.store.run_index import RunIndex

from .conftest import end_night, plan_ago


def _covered(results: Results) -> dict[str, int]:
    rows = coverage_of(results, "acme", RunIndex(results).refreshed()).values()
    return {row.identity: row.covered for row in rows}


def test_coverage_is_what_the_view_says(results: Results) -> None:
    """Each column has the view's own value, also when it was kept."""
    for _ in range(2):
        (row,) = coverage_of(results, "acme", RunIndex(results).refreshed()).values()
        with answering(results, "acme", "coverage") as connection:
            found = connection.execute("SELECT files, covered, rejected, failed, ineligible FROM coverage")
            told = (row.files, row.covered, row.rejected, row.failed, row.ineligible)
            assert found.fetchall() == [told]


def test_nothing_is_asked_until_a_run_changes_it(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was planned, or a leg that has ended, makes it anew; another account's does not."""
    asked: list[str] = []
    real = coverage._asked
    monkeypatch.setattr(coverage, "_asked", lambda *of: asked.append(of[1]) or real(*of))
    first = _covered(results)
    end_night(results, plan_ago(timedelta(hours=2), "eeeeee", items=1, environment="borealis"), ["accepted"])
    again = _covered(results)

    end_night(
        results, plan_ago(timedelta(hours=1), "ffffff", items=4, environment="acme", catalog="/acme"), 4 * ["accepted"]
    )
    later = _covered(results)

    assert list(first.values()) == list(again.values()) == [2]
    assert list(later.values()) == [4]
    assert asked == ["acme", "acme"]


def test_a_run_that_begins_meanwhile_hides_no_catalog(results: Results) -> None:
    """The index may be older than what the views read: the catalog is found by what its runs have in common."""
    index = RunIndex(results).refreshed()
    newer = plan_ago(timedelta(hours=1), "ffffff", items=4, environment="acme", catalog="/acme")
    end_night(results, newer, 4 * ["accepted"])

    found = coverage_of(results, "acme", index)

    assert found[newer.identity].covered == 4


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"state": "x"}', b"\xff"])
def test_damage_is_made_anew(results: Results, damage: bytes) -> None:
    """It is derived, so nobody is troubled."""
    results.store.replace(coverage_name("acme"), damage)

    assert list(_covered(results).values()) == [2]


def test_a_reader_without_the_right_to_write_is_told_too(results: Results) -> None:
    """It works it out, and keeps nothing."""
    assert list(_covered(Results(read_only(results.store))).values()) == [2]
    assert results.store.read(coverage_name("acme")) is None
