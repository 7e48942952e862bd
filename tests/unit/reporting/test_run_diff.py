"""Of each item it is said what changed and why."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.domain.items import WorkItem
from proofsweep.domain.runs import REDRIVE, Plan
from proofsweep.domain.tables import planned_items, schemas
from proofsweep.reporting.run_diff import Comparison, holds_whole_catalog, run_diff
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.store import open_store

from ..ended_runs import answered, end_leg, plan_of_run

MONDAY, TUESDAY, WEDNESDAY = (plan_of_run(f"2026111{day}T100000Z_a", 9) for day in (6, 7, 8))
RULE = {"accepted": None, "rejected": "tampered", "failed": "timeout", "ineligible": "empty"}

Night = Sequence[tuple[str, str, dict[str, object]]]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(open_store(str(tmp_path)))


def night(results: Results, plan: Plan, rows: Night) -> None:
    """Leave a run behind with these rows."""
    cells = [
        answered(plan, row, item, outcome, reason=RULE[outcome], audio_sha256="1", grade_rubric_version="r1") | changed
        for row, (item, outcome, changed) in enumerate(rows)
    ]
    end_leg(results, plan, cells)


def changes(results: Results, now: Plan, *before: Plan, whole: Plan | None = None) -> dict[str | None, tuple[str, str]]:
    """Give change and cause of each item that changed."""
    commits = {MONDAY.run_id: "c1", TUESDAY.run_id: "c1", WEDNESDAY.run_id: "c2"}
    with run_diff(Comparison(results=results, now=now, before=before, whole=whole, commits=commits)) as found:
        return {row["item_id"]: (str(row["change"]), str(row["cause"])) for row in found.rows()}


def test_every_change_has_its_cause(results: Results) -> None:
    """What is as before is no change; a file that was accepted and is not any more is broken."""
    night(
        results,
        MONDAY,
        [(item, "accepted", {}) for item in ("same", "audio", "moved", "late", "gone", "file")]
        + [("fixed", "rejected", {}), ("again", "failed", {}), ("side", "rejected", {"sidecar_sha256": "1"})],
    )
    night(
        results,
        TUESDAY,
        [
            ("same", "accepted", {}),
            ("audio", "rejected", {"audio_sha256": "2"}),
            ("moved", "accepted", {"audio": "/c/elsewhere"}),
            ("late", "failed", {}),
            ("file", "ineligible", {"audio_sha256": None}),
            ("fixed", "accepted", {}),
            ("again", "rejected", {}),
            ("side", "rejected", {"sidecar_sha256": "2"}),
            ("new", "rejected", {"audio_sha256": "9"}),
        ],
    )

    assert changes(results, TUESDAY, MONDAY, whole=MONDAY) == {
        "audio": ("broken", "audio changed"),
        "late": ("broken", "no answer now"),
        "file": ("broken", "file or catalog changed"),
        "fixed": ("fixed", "same file, other answer"),
        "again": ("changed", "no answer before"),
        "side": ("changed", "sidecar changed"),
        "moved": ("changed", "moved"),
        "new": ("new", "first seen"),
        "gone": ("gone", "not in the catalog any more"),
    }


def test_a_night_without_an_answer_hides_no_earlier_verdict(results: Results) -> None:
    """Before Wednesday the file was accepted, whatever Tuesday's outage says; the service was deployed since."""
    night(results, MONDAY, [("a", "accepted", {}), ("b", "accepted", {})])
    night(results, TUESDAY, [("a", "failed", {})])
    night(results, WEDNESDAY, [("a", "accepted", {}), ("b", "rejected", {})])

    assert changes(results, WEDNESDAY, MONDAY, TUESDAY) == {"b": ("broken", "service deployment changed")}
    assert changes(results, WEDNESDAY, TUESDAY)["a"] == ("fixed", "no answer before")


def test_a_file_is_broken_once(results: Results) -> None:
    """On Tuesday it was empty. On Wednesday it is as before, or a nightly diff would end with exit code 3 for ever."""
    night(results, MONDAY, [("a", "accepted", {})])
    night(results, TUESDAY, [("a", "ineligible", {"audio_sha256": None})])
    night(results, WEDNESDAY, [("a", "ineligible", {"audio_sha256": None})])

    assert changes(results, TUESDAY, MONDAY) == {"a": ("broken", "file or catalog changed")}
    assert changes(results, WEDNESDAY, MONDAY, TUESDAY) == {}


def test_what_merely_remains_is_not_gone(results: Results) -> None:
    """Tuesday was stopped; one of its planned items is not finished, and another is not planned any more."""
    night(results, MONDAY, [("a", "accepted", {}), ("later", "accepted", {}), ("gone", "accepted", {})])
    stopped = replace(TUESDAY, items=2)
    items = [
        WorkItem(manifest_row=row, item_id=name, audio=f"/c/{name}", sidecar=None)
        for row, name in enumerate(("a", "later"))
    ]
    shard = schemas.pa.Table.from_pylist([planned_items.planned_row(item) for item in items], schema=schemas.ITEMS)
    results.write_shard(stopped.run_id, 0, shard)
    night(results, stopped, [("a", "accepted", {})])

    assert changes(results, stopped, MONDAY, whole=MONDAY) == {"gone": ("gone", "not in the catalog any more")}


@pytest.mark.parametrize("facts", [{"skipped": 3}, {"catalog_kind": REDRIVE}])
def test_a_run_of_a_part_of_the_catalog_lacks_nothing(results: Results, facts: dict[str, object]) -> None:
    """Rows that were not due, or not asked for, are still in the catalog."""
    partial = replace(TUESDAY, **facts)  # type: ignore[arg-type]  # the test's own words
    night(results, MONDAY, [("a", "accepted", {}), ("b", "accepted", {})])
    night(results, partial, [("a", "accepted", {})])

    assert not holds_whole_catalog(partial)
    assert changes(results, partial, MONDAY, whole=MONDAY) == {}


def test_grades_are_compared_within_one_rubric(results: Results) -> None:
    """They are report-only, and of two versions they mean different things; that is told, not hidden."""
    grade = {"grade_json": "{}", "classification": "human"}
    night(results, MONDAY, [("a", "accepted", grade), ("b", "accepted", grade)])
    night(
        results,
        TUESDAY,
        [("a", "accepted", grade | {"classification": "ai"}), ("b", "accepted", {"grade_rubric_version": "r2"})],
    )

    assert changes(results, TUESDAY, MONDAY) == {"a": ("changed", "same file, other answer")}
    with run_diff(Comparison(results=results, now=TUESDAY, before=[MONDAY], whole=None, commits={})) as found:
        assert found.rubrics() == (["r1"], ["r1", "r2"])


def test_at_most_so_many_files_of_each_kind_are_given(results: Results) -> None:
    """The counts are of all; the same file twice in a catalog is one item."""
    night(results, MONDAY, [("x", "accepted", {})])
    night(
        results, TUESDAY, [("x", "accepted", {}), ("x", "accepted", {}), *((f"n{n}", "accepted", {}) for n in range(4))]
    )

    with run_diff(Comparison(results=results, now=TUESDAY, before=[MONDAY], whole=None, commits={})) as found:
        assert found.counts() == [("new", "first seen", 4), ("same", "", 1)]
        assert [row["item_id"] for row in found.rows(2)] == ["n0", "n1"]
