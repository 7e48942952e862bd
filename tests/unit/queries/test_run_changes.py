"""The list of `proofsweep diff` is the view `changes` of one run."""

from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.domain.items import Row
from proofsweep.domain.runs import INGEST, Plan
from proofsweep.queries.changes import CHANGES_IN_ORDER, COLUMNS, Comparison, comparison_of, run_changes
from proofsweep.store.parts import Results

from ...worlds.ended_nights import ACCEPTED, FAILED, INELIGIBLE, MONDAY, REJECTED, TUESDAY, WEDNESDAY, night
from ...worlds.ended_runs import answered, end_leg, plan_of_run

GRADE: Row = {"classification": "human", "grade_human": 0.9, "grade_rubric_version": "r1"}


def changes(results: Results, now: Plan, before: Plan | None = None) -> dict[str | None, tuple[str, str | None]]:
    """Return change and cause of each item that changed."""
    with run_changes(Comparison(results, now, before)) as found:
        rows = list(found.rows())
        assert {tuple(row) for row in rows} <= {COLUMNS}
        assert sum(count for _, _, count in found.counts()) == len(rows)
        order = [CHANGES_IN_ORDER.index(str(row["change"])) for row in rows]
        assert order == sorted(order)
        return {row["item_id"]: (str(row["change"]), row["cause"]) for row in rows}


def test_many_small_runs_hide_nothing(results: Results) -> None:
    """A day of passes over a watched folder lies between; the file broke, and is not new."""
    night(results, MONDAY, {"a": ACCEPTED})
    for minute in range(41):
        run_id = f"20261116T12{minute:02}00Z_000aaaaaa"
        night(results, run_id, {f"in {minute}": ACCEPTED}, catalog="/in", catalog_kind=INGEST)
    now = night(results, TUESDAY, {"a": REJECTED})

    assert changes(results, now) == {"a": ("broken", None)}


def test_a_night_without_an_answer_hides_no_earlier_one(results: Results) -> None:
    """Also if the failed night was whole; each such night says that there is no answer."""
    night(results, MONDAY, {"a": ACCEPTED, "b": ACCEPTED, "c": ACCEPTED})
    tuesday = night(results, TUESDAY, {"a": FAILED, "b": FAILED, "c": FAILED})
    now = night(results, WEDNESDAY, {"a": ACCEPTED, "b": REJECTED, "c": FAILED})

    assert changes(results, now) == {"b": ("broken", None), "c": ("broken", "no_answer_now")}
    assert changes(results, now, tuesday) == {
        "a": ("fixed", "no_answer_before"),
        "b": ("changed", "no_answer_before"),
    }


def test_an_item_that_failed_last_and_is_not_listed_any_more_is_gone(results: Results) -> None:
    """What it was before the failure does not keep it."""
    night(results, MONDAY, {"a": ACCEPTED, "b": ACCEPTED})
    night(results, TUESDAY, {"a": ACCEPTED, "b": FAILED})
    now = night(results, WEDNESDAY, {"a": ACCEPTED})

    assert changes(results, now) == {"b": ("gone", "gone")}


def test_a_run_is_compared_with_one_that_is_named(results: Results) -> None:
    """What it has not is gone only if both left nothing out; runs between them say nothing."""
    monday = night(results, MONDAY, {"a": ACCEPTED, "b": ACCEPTED})
    tuesday = night(results, TUESDAY, {"a": REJECTED}, skipped=1)
    now = night(results, WEDNESDAY, {"a": INELIGIBLE | {"audio_sha256": None}, "c": ACCEPTED})

    assert changes(results, now, monday) == {
        "a": ("broken", "file_or_catalog_changed"),
        "b": ("gone", "gone"),
        "c": ("new", "first_seen"),
    }
    assert changes(results, now, tuesday) == {
        "a": ("changed", "file_or_catalog_changed"),
        "c": ("new", "first_seen"),
    }


def test_grades_of_two_rubrics_are_not_compared(results: Results) -> None:
    """They are report-only; that the rubric changed is told, and the file is as before."""
    night(results, MONDAY, {"a": ACCEPTED | GRADE, "b": ACCEPTED | GRADE, "gone": ACCEPTED})
    other = GRADE | {"grade_human": 0.1}
    now = night(results, TUESDAY, {"a": ACCEPTED | other, "b": ACCEPTED | other | {"grade_rubric_version": "r2"}})

    with run_changes(Comparison(results, now)) as found:
        assert found.counts() == [("changed", None, 1), ("gone", "gone", 1)]
        assert found.as_before() == 1
        assert found.rubrics() == (["r1"], ["r2"])


def test_at_most_so_many_files_of_each_kind_are_given(results: Results) -> None:
    """The counts are of all; the same file twice in a catalog is one item."""
    night(results, MONDAY, {"x": ACCEPTED})
    twice = {"x": ACCEPTED, "x again": ACCEPTED | {"item_id": "x", "relative_path": "x", "audio_sha256": "sha of x"}}
    now = night(results, TUESDAY, twice | {f"n{number}": ACCEPTED for number in range(4)})

    with run_changes(Comparison(results, now)) as found:
        assert (found.counts(), found.as_before()) == ([("new", "first_seen", 4)], 1)
        assert [row["item_id"] for row in found.rows(2)] == ["n0", "n1"]


def test_a_store_that_cannot_be_read_is_one_line(results: Results) -> None:
    """A part is damaged."""
    night(results, MONDAY, {"x": ACCEPTED})
    now = night(results, TUESDAY, {"x": REJECTED})
    (part,) = Path(results.store.url).glob("verdicts/*/*17T*.parquet")
    part.write_bytes(b"nothing")

    with pytest.raises(ResultsError, match="cannot be read"), run_changes(Comparison(results, now)):
        pass


def night_of(results: Results, day: int, **facts: object) -> Plan:
    """Leave a run of one row behind."""
    plan = plan_of_run(f"202611{day:02}T100000Z_a", **facts)
    end_leg(results, plan, [answered(plan, 0, "a")])
    return plan


def test_the_baseline_is_the_first_finished_run_of_the_catalog(results: Results) -> None:
    """A run that was stopped is none, and neither is one of another catalog."""
    night_of(results, 1, catalog="/c/other.csv")
    night_of(results, 2, items=5)
    baseline = night_of(results, 3)
    night_of(results, 4)

    assert comparison_of(results, night_of(results, 5), "baseline").before == baseline


def test_a_run_that_is_named_is_taken_and_by_default_none_is(results: Results) -> None:
    """Without one it is the runs of `store.comparisons`."""
    other, now = night_of(results, 1), night_of(results, 2)

    assert comparison_of(results, now, other.run_id).before == other
    assert comparison_of(results, now, "previous").before is None


def test_what_cannot_be_compared_is_refused(results: Results) -> None:
    """Nothing before, no such run, and verdicts of two environments."""
    elsewhere, now = night_of(results, 1, environment="production"), night_of(results, 2)

    with pytest.raises(ResultsError, match="There is nothing to compare the run"):
        comparison_of(results, now, "previous")
    with pytest.raises(ResultsError, match="There is no run 'nope'"):
        comparison_of(results, now, "nope")
    with pytest.raises(UsageError, match=r"of the environment 'beta', and .* of 'production'"):
        comparison_of(results, now, elsewhere.run_id)
