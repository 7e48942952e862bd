"""A forecast goes by what earlier legs took."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.store.legs import Legs
from proofsweep.store.objects import open_store
from proofsweep.store.parts import Results
from proofsweep.verify.history import let_through, measured_legs

from ...worlds.ended_runs import end_leg, plan_of_run

RUN = "20261120T100000Z_aaaaaa"
TEN = datetime(2026, 11, 20, 10, tzinfo=UTC)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(open_store(str(tmp_path)))


def add_leg(results: Results, *, calls: int, finished_at: datetime, **counts: int) -> None:
    """Leave a leg behind that began at ten."""
    end_leg(results, plan_of_run(RUN), calls=calls, started_at=TEN, finished_at=finished_at, **counts)


def test_a_leg_that_sent_something_is_measured(results: Results) -> None:
    """Of another environment, and without a leg, nothing is known."""
    before = measured_legs(results, "beta")
    add_leg(results, accepted=2, calls=4, finished_at=TEN.replace(second=2))

    (after,) = measured_legs(results, "beta")

    assert before == measured_legs(results, "production") == []
    assert (after.rows, after.calls, after.seconds, after.start_seconds) == (2, 4, 2.0, 0.0)


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


@pytest.mark.parametrize(
    ("refused_at", "calls_at", "rate"),
    [
        ([], range(100), None),
        ([10.0], range(100), None),
        ([0.5, 10.5], [second / 4 for second in range(80)], 4.0),
        ([0.5, 2.5], range(10), None),  # too short a time
        ([0.5, 10.5, 11.0, 21.0], [*range(10), *(10.6 + each / 5 for each in range(50))], 5.0),  # idle at first
    ],
)
def test_a_lane_lets_through_what_passes_between_two_refusals(
    refused_at: list[float], calls_at: Iterable[float], rate: float | None
) -> None:
    """What it held before the first one is its burst."""
    sent = sorted([(at, True) for at in refused_at] + [(float(at), False) for at in calls_at])

    assert let_through(sent) == (None if rate is None else pytest.approx(rate, rel=0.07))
