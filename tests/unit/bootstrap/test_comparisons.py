"""A run is compared with what is like it."""

from collections.abc import Callable

import pytest

from proofsweep.bootstrap.comparisons import comparison_of
from proofsweep.bootstrap.stores import results_for
from proofsweep.domain.runs import REDRIVE
from proofsweep.errors import ResultsError, UsageError
from proofsweep.settings import Settings

from ..ended_runs import answered, end_leg, plan_of_run

Change = Callable[..., Settings]


def night(settings: Settings, day: int, **facts: object) -> str:
    """Leave a run of one row behind; give its id."""
    plan = plan_of_run(f"202611{day:02}T100000Z_a", **facts)
    end_leg(results_for(settings), plan, [answered(plan, 0, "a")], service_commit=f"c{day}")
    return plan.run_id


def test_by_default_the_newest_run_is_compared_with_all_before(change: Change) -> None:
    """Also with runs of a part, which may hold the newest answer; a file can be gone only from a whole run."""
    settings = change()
    first, second = night(settings, 1), night(settings, 2)
    redrive = night(settings, 3, catalog_kind=REDRIVE)
    night(settings, 4, environment="production")
    last = night(settings, 5)

    chosen = comparison_of(settings, None, "previous")

    assert chosen.now.run_id == last
    assert [plan.run_id for plan in chosen.before] == [first, second, redrive]
    assert chosen.whole is not None
    assert chosen.whole.run_id == second
    assert chosen.commits[first] == "c1"


def test_the_baseline_is_the_first_finished_run_of_the_catalog(change: Change) -> None:
    """A run that was stopped is none, and neither is one of another catalog."""
    settings = change()
    night(settings, 1, catalog="/c/other.csv")
    night(settings, 2, items=5)
    baseline = night(settings, 3)
    night(settings, 4)
    night(settings, 5)

    assert [plan.run_id for plan in comparison_of(settings, None, "baseline").before] == [baseline]


def test_a_run_that_is_named_is_taken(change: Change) -> None:
    """Of two catalogs no file is gone."""
    settings = change()
    other, now = night(settings, 1, catalog="/c/other.csv"), night(settings, 2)

    chosen = comparison_of(settings, now, other)

    assert ([plan.run_id for plan in chosen.before], chosen.whole) == ([other], None)


def test_what_cannot_be_compared_is_refused(change: Change) -> None:
    """Nothing before, no such run, and verdicts of two environments."""
    settings = change()
    with pytest.raises(ResultsError, match="There is no run with rows in"):
        comparison_of(settings, None, "previous")

    elsewhere, now = night(settings, 1, environment="production"), night(settings, 2)

    with pytest.raises(ResultsError, match="There is nothing to compare the run"):
        comparison_of(settings, None, "previous")
    with pytest.raises(ResultsError, match="There is no run 'nope'"):
        comparison_of(settings, None, "nope")
    with pytest.raises(UsageError, match=r"of the environment 'beta', and .* of 'production'"):
        comparison_of(settings, now, elsewhere)
