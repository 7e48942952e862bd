"""With which rate a leg begins."""

from datetime import timedelta

import pytest

from proofsweep.app import App, utc_now
from proofsweep.config.load import Settings
from proofsweep.verify.lane_sharing import remembered_rate

from ...worlds.ended_runs import end_leg, plan_of_run


@pytest.mark.parametrize(("days", "rate"), [(6, 500.0), (8, None)])
def test_a_leg_begins_at_the_rate_of_the_last_one(settings: Settings, days: int, rate: float | None) -> None:
    """For a week; each of several processes takes its share."""
    engine = App(settings).service
    lane = {"base_url_host": "partner.example", "key_fingerprint": engine.key_fingerprint}
    earlier = plan_of_run("20261120T120000Z_000aa")
    ended_at = utc_now() - timedelta(days=days)
    end_leg(App(settings).results, earlier, rate_learned=500.0, finished_at=ended_at, **lane)

    assert remembered_rate(App(settings).results, engine) == rate
    assert remembered_rate(App(settings).results, engine, processes=4) == (None if rate is None else rate / 4)
