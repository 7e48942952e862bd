"""A run is compared with how each file stood before, or with one run that is like it."""

from collections.abc import Callable

import pytest

from proofsweep.bootstrap.comparisons import comparison_of
from proofsweep.bootstrap.stores import results_for
from proofsweep.domain.runs import Plan
from proofsweep.errors import ResultsError, UsageError
from proofsweep.settings import Settings

from ..ended_runs import answered, end_leg, plan_of_run

Change = Callable[..., Settings]


def night(settings: Settings, day: int, **facts: object) -> Plan:
    """Leave a run of one row behind."""
    plan = plan_of_run(f"202611{day:02}T100000Z_a", **facts)
    end_leg(results_for(settings), plan, [answered(plan, 0, "a")])
    return plan


def test_the_baseline_is_the_first_finished_run_of_the_catalog(change: Change) -> None:
    """A run that was stopped is none, and neither is one of another catalog."""
    settings = change()
    night(settings, 1, catalog="/c/other.csv")
    night(settings, 2, items=5)
    baseline = night(settings, 3)
    night(settings, 4)

    assert comparison_of(results_for(settings), night(settings, 5), "baseline").before == baseline


def test_a_run_that_is_named_is_taken_and_by_default_none_is(change: Change) -> None:
    """Without one it is the runs of the view `comparisons`."""
    settings = change()
    other, now = night(settings, 1), night(settings, 2)

    assert comparison_of(results_for(settings), now, other.run_id).before == other
    assert comparison_of(results_for(settings), now, "previous").before is None


def test_what_cannot_be_compared_is_refused(change: Change) -> None:
    """Nothing before, no such run, and verdicts of two environments."""
    settings = change()
    elsewhere, now = night(settings, 1, environment="production"), night(settings, 2)

    with pytest.raises(ResultsError, match="There is nothing to compare the run"):
        comparison_of(results_for(settings), now, "previous")
    with pytest.raises(ResultsError, match="There is no run 'nope'"):
        comparison_of(results_for(settings), now, "nope")
    with pytest.raises(UsageError, match=r"of the environment 'beta', and .* of 'production'"):
        comparison_of(results_for(settings), now, elsewhere.run_id)
