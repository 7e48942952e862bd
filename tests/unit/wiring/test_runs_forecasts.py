"""A forecast of this run, by this store's history."""

from datetime import datetime, timedelta

from proofsweep.model.bounds import Bounds
from proofsweep.model.forecast import Need
from proofsweep.settings import Settings
from proofsweep.verify.plan.examine_service import ServiceStatus
from proofsweep.wiring.engines import utc_now
from proofsweep.wiring.runs import forecast_for
from proofsweep.wiring.stores import results_for

from ..ended_runs import end_leg, plan_of_run

NEED = Need(eligible=100, audio_bytes=1_000)


def fifty_accepted(settings: Settings, environment: str) -> None:
    """Leave a leg behind that accepted 50 rows in 100 seconds."""
    began = datetime(2026, 11, 20, 12, tzinfo=utc_now().tzinfo)
    times = {"started_at": began, "finished_at": began + timedelta(seconds=100)}
    plan = plan_of_run("20261120T120000Z_000aa", environment=environment)
    end_leg(results_for(settings), plan, accepted=50, calls=102, **times)


def test_the_pace_is_that_of_earlier_legs_in_this_environment(settings: Settings) -> None:
    """No call was refused, so that the pace grows; another environment's pace says nothing of this one's."""
    before = forecast_for(settings, NEED, ServiceStatus(), Bounds())
    fifty_accepted(settings, "beta")

    after = forecast_for(settings, NEED, ServiceStatus(), Bounds())

    assert (before.seconds, before.measured_rows) == (None, None)
    assert (after.seconds is None, after.measured_rows) == (False, 50)


def test_another_environment_has_a_history_of_its_own(settings: Settings) -> None:
    """The sandbox is faster than any service."""
    fifty_accepted(settings, "sandbox")

    assert forecast_for(settings, NEED, ServiceStatus(), Bounds()).seconds is None
