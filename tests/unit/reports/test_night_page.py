"""The page of a night says what the run did, and nothing that it did not see."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from proofsweep.domain.errors import UsageError
from proofsweep.queries.catalog import PageChoice
from proofsweep.queries.nights import standing_of
from proofsweep.queries.status import describe_run
from proofsweep.reports.pages import night_page
from proofsweep.store.parts import Results

from ...worlds.core import StoredRun
from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ...worlds.reported_store import BEFORE, PLAN, fill

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def page_of(results: Results, run_id: str, *tags: str, packet: str = "") -> str:
    """Write the page of a run."""
    return night_page(results, run_id, NOW, PageChoice(tags=tags, usual_tag="supplier"), packet=packet)


def test_the_answer_stands_on_top_with_what_changed(results: Results) -> None:
    """Then what to do, by kind and by supplier; what the rest costs; what support needs."""
    page = page_of(fill(results), PLAN.run_id, "Supplier", packet="POST /uploads: 500 <b>\nline two\n")

    text = page.partition("<main>")[2]
    assert "<title>3 of 6 accepted" in page
    head = page.partition("<main>")[0]
    assert "<h1>5 of 6 files were checked in this run: 3 accepted; 2 need attention (1 rejected, 1 failed);" in head
    assert "1 remains.</h1>" in head
    assert "The catalog after this run, its newest: 3 of 6 files accepted, 2 need attention." in head
    assert '<th scope="row">broken</th><td data-label="files">1</td><td class="words">no answer now</td>' in text
    assert "0 of the files of this run are as before" in text
    assert '<th scope="row">Acme</th><td data-label="rejected">1</td>' in text
    assert "<h3>Verify again; the service did not answer in time</h3>" in text
    assert "1 file: the credential was changed after it was issued <small>(rejected, tampered)</small>." in text
    assert "1 rows that remain need about 4 calls, which the quota allows" in text
    assert "POST /uploads: 500 &lt;b&gt;\nline two" in text


def test_a_night_without_anything_new_says_how_the_catalog_stands(results: Results) -> None:
    """Six of forty files were due; they are as before, and so is the catalog, whatever this run counts."""
    first, second = (plan_of_run(f"202611{day}T020000Z_000aa", 40) for day in (19, 20))
    second = replace(second, items=6, eligible=6, skipped=34)
    why = {"reason": "tampered", "verdict": "tampered"}
    kinds: list[tuple[str, dict[str, object]]] = [
        ("accepted", {}) if row < 19 else ("rejected", why) for row in range(34)
    ]
    kinds += [("failed", {"reason": "timeout"})] * 6
    end_leg(results, first, [answered(first, row, str(row), kind, **cells) for row, (kind, cells) in enumerate(kinds)])
    StoredRun(results, second).list_catalog(map(str, range(40)))
    end_leg(results, second, [answered(second, row, str(34 + row), "failed", reason="timeout") for row in range(6)])

    page = page_of(results, second.run_id)
    earlier = page_of(results, first.run_id)

    assert "6 of 6 files were checked in this run: 0 accepted; 6 need attention (6 failed)." in page
    assert "The catalog after this run, its newest: 19 of 40 files accepted, 21 need attention." in page
    assert "34 more rows of the catalog were not due: they keep their answers." in page
    assert "Nothing changed." in page
    assert "15 more files of the catalog need attention since earlier runs" in page
    assert "40 of 40 files were checked in this run: 19 accepted; 21 need attention" in earlier
    assert "The catalog after this run" not in earlier


def test_nothing_of_others_is_markup(results: Results) -> None:
    """The example of a group has a hostile name too."""
    page = page_of(fill(results), PLAN.run_id)

    assert "<script>document.title" not in page
    assert "\u202e" not in page
    assert "For the partner" not in page


def test_a_run_that_never_began_has_a_page(results: Results) -> None:
    """It draws nothing."""
    results.write_plan(PLAN)

    page = page_of(results, PLAN.run_id)

    assert "Planned, not started." in page
    assert "<svg" not in page


def test_a_tag_that_no_file_has_is_refused(results: Results) -> None:
    """A list of nothing would read as if all were well."""
    with pytest.raises(UsageError, match="has the tag 'colour'"):
        page_of(fill(results), PLAN.run_id, "colour")


def test_only_the_newest_run_says_how_its_catalog_stands(results: Results) -> None:
    """By the view `coverage`."""
    fill(results)

    assert standing_of(results, describe_run(results, PLAN.run_id)) == (3, 6, 2)
    assert standing_of(results, describe_run(results, BEFORE.run_id)) is None


def test_a_night_that_graded_files_draws_its_charts(results: Results) -> None:
    """Each says in words what it shows."""
    page = page_of(fill(results), PLAN.run_id)

    titles = re.findall("<figcaption>(.*?)</figcaption>", page)
    assert titles == [
        *("Calls per second", "Median time of a call"),
        *("Files by classification", "Files by risk category", "Grade human", "Grade ai"),
    ]
    assert page.count('role="img" aria-label="') == len(titles)
