"""What a pruning deletes, and of which runs."""

from datetime import UTC, datetime

import pytest

from proofsweep.domain.errors import UsageError
from proofsweep.store.prunings import days_of, ended_at, old_runs
from proofsweep.store.run_records import LegRecord, RunRecord

from ...worlds.ended_runs import plan_of_run

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def run(*legs: dict[str, object]) -> RunRecord:
    """Make a run that was planned ten days ago, with legs that have these counts."""
    numbered = [LegRecord(leg=leg, receipt={"counts": counts}) for leg, counts in enumerate(legs, 1)]
    return RunRecord(plan=plan_of_run("20261110T120000Z_000aa"), legs=numbered)


@pytest.mark.parametrize(("text", "days"), [("400d", 400), (" 1d ", 1), ("00030d", 30)])
def test_an_age_is_in_whole_days(text: str, days: int) -> None:
    """At least one."""
    assert days_of(text) == days


@pytest.mark.parametrize("text", ["", "400", "0d", "-3d", "1y", "12h", "1.5d", "999999d", "d"])
def test_any_other_age_is_refused(text: str) -> None:
    """With an example of one that is understood."""
    with pytest.raises(UsageError, match="write it like 400d"):
        days_of(text)


def test_a_run_ends_with_its_last_leg() -> None:
    """One without a time counts from its plan."""
    late = {"finished_at": "2026-11-18 09:00:00+00:00", "remaining": 0}

    assert ended_at(run({"finished_at": "2026-11-11 09:00:00+00:00"}, late)) == datetime(2026, 11, 18, 9, tzinfo=UTC)
    assert ended_at(run({"remaining": 0})) == datetime(2026, 11, 10, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("legs", "days", "is_old"),
    [
        ([{"remaining": 0}], 10, True),
        ([{"remaining": 0}], 11, False),
        ([{"remaining": 1}], 1, False),
        ([], 1, False),
        ([{"remaining": 0, "finished_at": "2026-11-19 13:00:00+00:00"}], 1, False),
    ],
)
def test_only_finished_runs_grow_old(legs: list[dict[str, object]], days: int, *, is_old: bool) -> None:
    """One that was planned and never begun does not, nor one that was resumed lately."""
    assert bool(old_runs([run(*legs)], days, NOW)) == is_old
