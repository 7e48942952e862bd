"""The page of a catalog says how all of it stands, whatever the last night did."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.queries.page_facts import catalog_facts, run_facts
from proofsweep.queries.selected_rows import ShownFile
from proofsweep.queries.status import describe_run
from proofsweep.reports.pages import catalog_page, jinja_environment, run_page, shown_name, write_page
from proofsweep.store.parts import Results

from ...worlds import five_nights
from ...worlds.ended_nights import ACCEPTED, MONDAY, REJECTED, TUESDAY, night
from ...worlds.reported_store import PLAN, fill

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def page_of_catalog(results: Results, *tags: str, catalog: str | None = None) -> str:
    facts = catalog_facts(results, "beta", catalog, tags=tags)
    return catalog_page(facts, results.store.url, NOW)


def test_nothing_of_others_is_markup(results: Results) -> None:
    """Names and tags are text; the policy allows no script."""
    page = page_of_catalog(fill(results))

    assert "<script>document.title" not in page
    assert "\u202e" not in page
    assert "<script" not in page
    assert "default-src 'none'; style-src 'unsafe-inline'\"" in page
    assert "By supplier" in page


def test_what_is_not_there_is_refused(results: Results) -> None:
    """A page of nothing would read as if all were well."""
    with pytest.raises(ResultsError, match="There is no run"):
        page_of_catalog(results)
    fill(results)
    with pytest.raises(UsageError, match="has the tag 'colour'"):
        page_of_catalog(results, "colour")
    with pytest.raises(ResultsError, match="no run of the catalog /d"):
        page_of_catalog(results, catalog="/d")


def test_the_answer_stands_on_top_with_what_changed(results: Results) -> None:
    """Then what to do, by kind and by supplier; what the rest costs."""
    facts = run_facts(fill(results), PLAN.run_id, tags=["Supplier"])
    page = run_page(describe_run(results, PLAN.run_id), facts, results.store.url, NOW)

    text = page.partition("<main>")[2]
    assert "<title>3 of 6 accepted" in page
    head = page.partition("<main>")[0]
    assert "<h1>5 of 6 files were checked in this run: 3 accepted (60.0 %); 2 need attention (1 rejected," in head
    assert "· night of 20 Nov 2026 ·" in head
    assert "1 remains.</h1>" in head
    assert "<summary>2 files broke</summary>" in text
    assert "the service did not answer in time <small>(no answer now)</small>" in text
    assert '<th scope="row">Acme</th><td data-label="files">1</td><td data-label="accepted">0</td>' in text
    assert "<h3>Verify again; the service did not answer in time</h3>" in text
    assert "1 file: the credential was changed after it was issued <small>(rejected, tampered)</small>." in text
    assert "<p>20 keyed calls" in text


def test_a_grade_below_zero_is_drawn_beside_those_of_a_share(results: Results) -> None:
    facts = replace(run_facts(fill(results), PLAN.run_id), grades=[("ai", 0.1, -5, 1), ("ai", 0.1, 4, 2)])
    page = run_page(describe_run(results, PLAN.run_id), facts, results.store.url, NOW)

    assert "Grade ai, files: 1 from -0.5, 2 from 0.4." in page


def test_a_page_is_replaced_whole_or_not_at_all_and_no_other_file_is(tmp_path: Path) -> None:
    """A wrong --file costs nobody a list or a folder, and no folder is made for it; nothing half is left."""
    (tmp_path / "new").mkdir()
    write_page(str(tmp_path / "new" / "page.html"), "<!doctype html>one")
    write_page(str(tmp_path / "new" / "page.html"), "<!doctype html>two")
    (tmp_path / "folder").mkdir()
    (tmp_path / "rejects.csv").write_text("audio")

    with pytest.raises(UsageError, match="cannot be written: File exists"):
        write_page(str(tmp_path / "rejects.csv"), "<!doctype html>")
    for place in ("folder", "new/page.html/below a file.html", "mistyped/page.html"):
        with pytest.raises(UsageError, match="cannot be written"):
            write_page(str(tmp_path / place), "three")

    assert (tmp_path / "new" / "page.html").read_text() == "<!doctype html>two"
    assert (tmp_path / "rejects.csv").read_text() == "audio"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["folder", "new", "page.html", "rejects.csv"]


def test_a_manager_finds_state_trend_suppliers_and_what_to_do(results: Results) -> None:
    """In this order, under real headings; a page of a hundred such files is light."""
    page = page_of_catalog(five_nights.fill(results), "Supplier", "label")

    headings = re.findall(r"<h([123])[^>]*>(.*?)</h\1>", page)
    assert headings[0] == ("1", "1,099 of 1,200 files (91.6 %) are accepted; 101 need attention.")
    assert [text for level, text in headings if level == "2"] == [
        *("How the files stood after each night", "What changed in the newest night", "Needs attention", "By supplier"),
        *("By label", "Catalogs", "Night by night", "The words of this page", "About this page"),
    ]
    assert "as it stands on 2026-11-21 00:00 UTC · newest night 20 Nov 2026" in page
    assert "After the night before, of 19 Nov 2026: 1,099 of 1,200 (91.6 %) accepted." in page
    assert ("3", "Reject, and ask the supplier for the untouched original delivery") in headings
    assert "the credential in the file cannot be read <small>(rejected, unreadable)</small>" in page
    assert "3 files broke" in page
    assert "3 files were mended" in page
    assert "Süd &amp; Söhne &lt;Vertrieb&gt;" in page
    assert page.count('<tr><td class="main">') == 101 + 6
    assert len(page.encode()) < 200_000
    assert {*re.findall(r'href="#([^"]+)"', page)} <= {*re.findall(r'id="([^"]+)"', page)}
    for count in ("Files: 1,200", "Accepted: 1,099", "Need attention: 101", "Have an answer: 1,150", "Gone: 0"):
        assert f"<dt>{count}</dt>" in page  # with what it counts


def test_a_file_with_another_name_has_the_one_before_with_all_its_blanks(results: Results) -> None:
    """On both pages; a name may have two blanks, and whoever looks for the file must see them."""
    night(results, MONDAY, {"a/Two  Blanks.wav": ACCEPTED | {"audio_sha256": "same"}})
    night(results, TUESDAY, {"b/New.wav": ACCEPTED | {"audio_sha256": "same"}})

    of_run = run_page(describe_run(results, TUESDAY), run_facts(results, TUESDAY), results.store.url, NOW)

    for page in (of_run, page_of_catalog(results)):
        assert "<small>(was a/Two  Blanks.wav)</small>" in page
        assert "white-space: pre-wrap" in page


def test_what_changed_has_the_newest_night_of_each_catalog_with_its_date(results: Results) -> None:
    """A list that has no night for a month is told apart, with what only it has; it may be over."""
    night(results, "20261001T020000Z_000aa", {"x": ACCEPTED}, catalog="/c/old.csv")
    night(results, "20261119T020000Z_000aa", {"a": ACCEPTED, "b": ACCEPTED})
    night(results, "20261120T020000Z_000aa", {"a": REJECTED})

    page = page_of_catalog(results)

    assert "What changed in the newest night of each catalog" in page
    assert '<td class="day" data-label="night">1 Oct 2026</td>' in page
    assert '<td class="day" data-label="night">20 Nov 2026</td>' in page
    assert "1 catalog had no night for 30 days: old.csv (1 file in no other catalog)" in page
    assert "proofsweep stop --retire CATALOG" in page
    assert "<summary>1 file is gone</summary>" in page


@pytest.mark.parametrize(
    ("file", "audio", "shown"),
    [
        ("a/b.wav", "/c/a/b.wav", ("a/", "b.wav")),
        ("b.wav", "/c/b.wav", ("", "b.wav")),
        ("folder/", "/c/folder/", ("", "folder")),
        ("proof:P-1", "proof:P-1", ("", "item-1")),
        ("", "", ("", "item-1")),
        ("a\u202e\nb.wav", None, ("", "a\\u202e\\nb.wav")),
        ("a/" + "x" * 300, None, ("", "…" + "x" * 260)),
    ],
)
def test_a_name_is_one_line_without_a_proof_id(file: str, audio: str | None, shown: tuple[str, str]) -> None:
    """Of one that is longer than a file system allows, the end is shown."""
    shown_file = ShownFile(file=file, audio=audio, item_id="item-1", tags=())
    assert shown_name(shown_file) == shown
    if audio is not None:  # a file that has this name now
        moved = replace(shown_file, file="x.wav", audio="/c/x.wav", moved_to=file)
        assert jinja_environment().filters["name_now"](moved) == "".join(shown)
