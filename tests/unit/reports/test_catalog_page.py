"""The page of a catalog says how all of it stands, whatever the last night did."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.queries.catalog import CatalogCounts, PageChoice
from proofsweep.queries.nights import nights_of
from proofsweep.reports.pages import _trend_of, catalog_page, sentence_of
from proofsweep.store.parts import Results

from ...worlds import five_nights
from ...worlds.reported_store import fill

NOW = datetime(2026, 11, 21, tzinfo=UTC)
NONE = CatalogCounts(files=0, covered=0, accepted=0, rejected=0, failed=0, ineligible=0, not_sent=0, gone=0, moved=0)


def test_the_state_is_one_sentence() -> None:
    """What is gone or not sent is said beside it; the ineligible count as covered, and not as answered."""
    counts = CatalogCounts(
        files=11_310,
        covered=11_210,
        accepted=11_001,
        rejected=190,
        failed=7,
        ineligible=6,
        not_sent=106,
        gone=4,
        moved=0,
    )

    assert sentence_of(counts) == (
        "11,204 of 11,310 files (99.0 %) have an answer; 11,001 accepted, 203 need attention; 106 not sent yet; "
        "4 are gone."
    )
    assert sentence_of(NONE) == "0 of 0 files (0.0 %) have an answer; 0 accepted, 0 need attention."


def test_a_manager_finds_state_trend_suppliers_and_what_to_do(results: Results) -> None:
    """In this order, under real headings; a page of a hundred such files is light."""
    page = catalog_page(five_nights.fill(results), "beta", NOW, PageChoice(tags=("Supplier", "label")))

    headings = re.findall(r"<h([123])[^>]*>(.*?)</h\1>", page)
    assert headings[0] == ("1", "1,150 of 1,200 files (95.8 %) have an answer; 1,099 accepted, 101 need attention.")
    assert "25 files cannot be sent as they are. With them, 1,175 of 1,200 (97.9 %) are covered." in page
    assert [text for level, text in headings if level == "2"] == [
        *("What changed", "Night by night", "By supplier", "By label", "Needs attention", "About this page")
    ]
    assert ("3", "Reject, and ask the supplier for the file as it was issued, not re-exported or edited") in headings
    assert "the credential in the file cannot be read <small>(rejected, unreadable)</small>" in page
    assert "3 files broke" in page
    assert "3 files were mended" in page
    assert "Süd &amp; Söhne &lt;Vertrieb&gt;" in page
    assert page.count('<tr><td class="main">') == 101 + 6
    assert len(page.encode()) < 200_000


def test_nothing_of_others_is_markup(results: Results) -> None:
    """Names, tags and classifications are text; the policy allows one script."""
    page = catalog_page(fill(results), "beta", NOW, PageChoice(usual_tag="supplier"))

    assert "<script>document.title" not in page
    assert "\u202e" not in page
    assert page.count("<script>") == 1
    assert "script-src 'sha256-" in page
    assert "By supplier" in page


def test_one_night_has_no_trend(results: Results) -> None:
    """Two have one."""
    nights = [replace(night, answered_percent=50.0) for night in nights_of(fill(results), "beta", None)]

    assert _trend_of(nights[:1]) == []
    assert [chart.title for chart in _trend_of(nights)] == [
        "Files checked in each night",
        "Share of today's files with an answer",
        "Calls to the service in each night",
        "Seconds of work in each night",
    ]


def test_what_is_not_there_is_refused(results: Results) -> None:
    """A page of nothing would read as if all were well."""
    with pytest.raises(ResultsError, match="There is no run"):
        catalog_page(results, "beta", NOW)
    fill(results)
    with pytest.raises(UsageError, match="has the tag 'colour'"):
        catalog_page(results, "beta", NOW, PageChoice(tags=("colour",)))
    with pytest.raises(ResultsError, match="no run of the catalog /d"):
        catalog_page(results, "beta", NOW, PageChoice(catalog="/d"))
