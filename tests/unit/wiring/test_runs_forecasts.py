"""A forecast of this run, by this store's history, this key's quota and a sample that was just sent."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.errors import RunMustStop
from proofsweep.model.bounds import Bounds
from proofsweep.model.exchanges import Call
from proofsweep.model.forecast import Measurement, Need
from proofsweep.model.selection import Selection
from proofsweep.settings import Settings
from proofsweep.verify.plan.examine_service import ServiceStatus
from proofsweep.wiring.engines import engine_for, utc_now
from proofsweep.wiring.runs import Surveyed, forecast_for, sample_of, surveyed
from proofsweep.wiring.stores import results_for

from ..ended_runs import end_leg, plan_of_run
from ..scripted_service import Scripted, ScriptedService
from ..wired import WAV

NEED = Need(eligible=100, audio_bytes=1_000)
SAMPLE = Measurement(rows=20, seconds=5.0, calls=42, quota_spent=40)


def found(settings: Settings, catalog: str) -> Surveyed:
    """Read the catalog, as `plan` does."""
    return surveyed(settings, catalog, Selection(), deep=False, max_calls=None)


def fifty_accepted(settings: Settings, environment: str) -> None:
    """Leave a leg behind that accepted 50 rows in 100 seconds."""
    began = datetime(2026, 11, 20, 12, tzinfo=utc_now().tzinfo)
    times = {"started_at": began, "finished_at": began + timedelta(seconds=100)}
    plan = plan_of_run("20261120T120000Z_000aa", environment=environment)
    end_leg(results_for(settings), plan, accepted=50, calls=102, **times)


def test_the_pace_is_that_of_earlier_legs_in_this_environment(settings: Settings) -> None:
    """Two seconds for a row; another environment's pace says nothing of this one's."""
    before = forecast_for(settings, NEED, ServiceStatus(), Bounds())
    fifty_accepted(settings, "beta")

    after = forecast_for(settings, NEED, ServiceStatus(), Bounds())

    assert (before.seconds, before.measured_rows) == (None, None)
    assert (after.seconds, after.measured_rows) == (200.0, 50)


def test_another_environment_has_a_history_of_its_own(settings: Settings) -> None:
    """The sandbox is faster than any service."""
    fifty_accepted(settings, "sandbox")

    assert forecast_for(settings, NEED, ServiceStatus(), Bounds()).seconds is None


def test_a_sample_counts_before_all_history(settings: Settings) -> None:
    """It was measured just now; what it took from the quota is not there any more."""
    fifty_accepted(settings, "beta")

    told = forecast_for(settings, NEED, ServiceStatus(headroom=1_000), Bounds(reserve=7), SAMPLE)

    assert (told.seconds, told.measured_rows) == (25.0, 20)
    assert (told.headroom, told.reserve) == (960, 7)


def test_a_quota_that_is_not_told_stays_unknown(settings: Settings) -> None:
    """It is not negative by what a sample spent."""
    told = forecast_for(settings, NEED, ServiceStatus(), Bounds(), SAMPLE)

    assert (told.headroom, told.rows_short) == (None, None)


def test_a_sample_is_sent_from_all_over_the_catalog(settings: Settings, catalog: str, service: ScriptedService) -> None:
    """Two of three files; their rows are nowhere, and the quota fell by what they cost."""
    service.script[Call.USAGE] = [Scripted(document={}, remaining=904)]

    measured = sample_of(engine_for(settings), found(settings, catalog), count=2, reserve=0)

    assert measured is not None
    assert (measured.rows, measured.calls, measured.quota_spent) == (2, 6, 4)
    sent = {number for number in range(3) for content in service.uploads if WAV + bytes([number]) in content}
    assert sent == {0, 2}
    assert [path.name for path in Path(settings.results.url).rglob("*.*")] == ["beta.json"]  # only the sample is kept


@pytest.mark.parametrize(("reserve", "is_sent"), [(895, True), (896, False)])
def test_a_sample_needs_calls_for_all_its_items(
    settings: Settings, catalog: str, service: ScriptedService, *, reserve: int, is_sent: bool
) -> None:
    """Of 900, two files need four above the reserve, and the last probe one; else nothing is sent."""
    engine, three = engine_for(settings), found(settings, catalog)

    if is_sent:
        sample_of(engine, three, count=2, reserve=reserve)
    else:
        with pytest.raises(RunMustStop):
            sample_of(engine, three, count=2, reserve=reserve)

    assert service.calls.count(Call.VERIFY) == (2 if is_sent else 0)


def test_a_sample_of_a_refused_key_ends_with_the_reason(
    settings: Settings, catalog: str, service: ScriptedService
) -> None:
    """It is not reported as files that could not be verified."""
    service.usual[Call.UPLOADS] = Scripted(status=403)

    with pytest.raises(RunMustStop) as stopped:
        sample_of(engine_for(settings), found(settings, catalog), count=2, reserve=0)

    assert stopped.value.ended_by == "key_refused"
