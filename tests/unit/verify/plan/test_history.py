"""A forecast goes by what earlier legs took."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.model.forecast import Need
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import open_store
from proofsweep.verify.plan.history import measured_legs

from ...ended_runs import end_leg, plan_of_run

RUN = "20261120T100000Z_aaaaaa"
TEN = datetime(2026, 11, 20, 10, tzinfo=UTC)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(open_store(str(tmp_path)))


def add_leg(results: Results, *, calls: int, finished_at: datetime, **counts: int) -> None:
    """Leave a leg behind that began at ten."""
    end_leg(results, plan_of_run(RUN), calls=calls, started_at=TEN, finished_at=finished_at, **counts)


def test_a_forecast_takes_the_pace_of_the_newest_leg(results: Results) -> None:
    """Two rows in two seconds make a hundred rows in a hundred seconds; without history there is no pace."""
    before = measured_legs(results, "beta")
    add_leg(results, accepted=2, calls=4, finished_at=TEN.replace(second=2))

    (after,) = measured_legs(results, "beta")

    assert before == measured_legs(results, "production") == []
    assert after.seconds_for(Need(eligible=100, audio_bytes=0)) == 100.0


def test_duplicates_in_an_earlier_catalog_do_not_lower_the_cost(results: Results) -> None:
    """Three rows, one of them answered by another's verification, cost what two rows cost."""
    plan = plan_of_run(RUN)
    results.write_plan(plan)
    times = {"started_at": TEN, "finished_at": TEN.replace(hour=11)}
    legs = Legs(results, RUN)
    legs.claim(1)
    legs.write_receipt(1, {"duplicates": 1, "cpu_seconds": 0.5, "counts": {"accepted": 3, "calls": 6} | times})

    (measured,) = measured_legs(results, "beta")

    assert (measured.rows, measured.cpu_seconds) == (2, 0.5)
