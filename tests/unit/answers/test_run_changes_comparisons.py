"""A run is compared with how each file stood before, or with one run that is like it."""

from pathlib import Path

import pytest

from proofsweep.answers.run_changes import comparison_of
from proofsweep.errors import ResultsError, UsageError
from proofsweep.model.runs import Plan
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import open_store

from ..ended_runs import answered, end_leg, plan_of_run


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(open_store(str(tmp_path)))


def night(results: Results, day: int, **facts: object) -> Plan:
    """Leave a run of one row behind."""
    plan = plan_of_run(f"202611{day:02}T100000Z_a", **facts)
    end_leg(results, plan, [answered(plan, 0, "a")])
    return plan


def test_the_baseline_is_the_first_finished_run_of_the_catalog(results: Results) -> None:
    """A run that was stopped is none, and neither is one of another catalog."""
    night(results, 1, catalog="/c/other.csv")
    night(results, 2, items=5)
    baseline = night(results, 3)
    night(results, 4)

    assert comparison_of(results, night(results, 5), "baseline").before == baseline


def test_a_run_that_is_named_is_taken_and_by_default_none_is(results: Results) -> None:
    """Without one it is the runs of `store.comparisons`."""
    other, now = night(results, 1), night(results, 2)

    assert comparison_of(results, now, other.run_id).before == other
    assert comparison_of(results, now, "previous").before is None


def test_what_cannot_be_compared_is_refused(results: Results) -> None:
    """Nothing before, no such run, and verdicts of two environments."""
    elsewhere, now = night(results, 1, environment="production"), night(results, 2)

    with pytest.raises(ResultsError, match="There is nothing to compare the run"):
        comparison_of(results, now, "previous")
    with pytest.raises(ResultsError, match="There is no run 'nope'"):
        comparison_of(results, now, "nope")
    with pytest.raises(UsageError, match=r"of the environment 'beta', and .* of 'production'"):
        comparison_of(results, now, elsewhere.run_id)
