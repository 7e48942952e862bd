"""The page has the answer on top, and is written whole."""

from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.answers.report.write_page import page_of, write_page
from proofsweep.errors import ResultsError, UsageError
from proofsweep.store.plans_and_parts import Results

from ....worlds.audited_store import list_items
from ...ended_runs import answered, end_leg, plan_of_run
from .reported_store import PLAN, fill


def test_the_answer_stands_on_top_with_what_changed(results: Results) -> None:
    """Then what to do, by kind and by supplier; what the rest costs; what support needs."""
    page = page_of(fill(results), PLAN.run_id, "supplier", "POST /uploads: 500 <b>\nline two\n")

    text = page.partition("<main>")[2]
    assert "<title>3 of 6 accepted" in page
    assert "2 need attention" in page.partition("<main>")[0]
    assert '<td>accepted</td><td class="number">3</td>' in text
    assert '<td class="number">1</td><td>broken</td><td>no answer now</td>' in text
    assert "0 of the files of this run are as before" in text
    assert "supplier: Acme" in text
    assert "verify again; the service did not answer in time" in text
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
    list_items(results, second.run_id, map(str, range(40)))
    end_leg(results, second, [answered(second, row, str(34 + row), "failed", reason="timeout") for row in range(6)])

    page = page_of(results, second.run_id, None, "")
    earlier = page_of(results, first.run_id, None, "")

    assert "19 of 40 files accepted</span>, " in page
    assert "21 need attention" in page
    assert "6 rows were planned, and 34 were not due: they keep their answers." in page
    assert "Nothing changed." in page
    assert "15 more files of the catalog need attention since earlier runs" in page
    assert "19 of 40 files accepted" in earlier
    assert "This is the run alone" in earlier


def test_nothing_of_others_is_markup(results: Results) -> None:
    """The example of a group has a hostile name too."""
    page = page_of(fill(results), PLAN.run_id, None, "")

    assert "<script>document.title" not in page
    assert "\u202e" not in page
    assert "For the partner" not in page


def test_a_run_that_never_began_has_a_page(results: Results) -> None:
    """It draws nothing."""
    results.write_plan(PLAN)

    page = page_of(results, PLAN.run_id, None, "")

    assert "planned, not started" in page
    assert "<svg" not in page


def test_a_tag_that_no_file_has_is_refused(results: Results) -> None:
    """A list of nothing would read as if all were well."""
    with pytest.raises(UsageError, match="has the tag 'colour'"):
        page_of(fill(results), PLAN.run_id, "colour", "")


def test_another_file_is_not_replaced(tmp_path: Path) -> None:
    """A wrong --file costs nobody a list."""
    (tmp_path / "rejects.csv").write_text("audio")

    with pytest.raises(UsageError, match="is no page and is not replaced"):
        write_page(tmp_path / "rejects.csv", "<!doctype html>")
    assert (tmp_path / "rejects.csv").read_text() == "audio"


def test_a_page_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    """A folder in its place stays; nothing half is left."""
    write_page(tmp_path / "new" / "page.html", "<!doctype html>one")
    write_page(tmp_path / "new" / "page.html", "<!doctype html>two")
    (tmp_path / "folder").mkdir()

    with pytest.raises(ResultsError, match="The report cannot be written"):
        write_page(tmp_path / "folder", "three")
    with pytest.raises(ResultsError, match="The report cannot be written"):
        write_page(tmp_path / "new" / "page.html" / "below a file.html", "four")

    assert (tmp_path / "new" / "page.html").read_text() == "<!doctype html>two"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["folder", "new", "page.html"]
