"""A rehearsal rests on the exchanges of the newest legs."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.model import layout
from proofsweep.model.forecast import Measurement
from proofsweep.model.observed import ObservedLane, ObservedService
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import open_store
from proofsweep.verify.plan.observed_legs import observed_service

from ...ended_runs import end_leg, plan_of_run
from ...exchange_rows import exchange

TEN = datetime(2026, 11, 20, 10, tzinfo=UTC)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(open_store(str(tmp_path)))


def add_leg(results: Results, number: int, *, rows: int, verify_ms: float, refused: int = 0, **counts: object) -> None:
    """Leave a leg behind whose rows took ten seconds each, after two seconds of preparation and before one."""
    plan = plan_of_run(f"202611200000{number:02}Z_aaaaaa".replace("20261120", "20261120T"), items=rows)
    calls = []
    for row in range(rows):
        at = TEN + timedelta(seconds=2 + 10 * row)
        for kind, after, elapsed_ms, status in (
            ("uploads", 0, 100.0, 200),
            ("slot", 1, 500.0, 204),
            ("verify", 2, verify_ms, 200),
        ):
            began = at + timedelta(seconds=after)
            cells = {"started_at": began, "elapsed_ms": elapsed_ms, "status": status, "bytes_sent": 1_000}
            calls.append(exchange(plan, row, call=kind, **cells))
        for again in range(refused):
            cells = {"started_at": at + timedelta(seconds=5 + again), "elapsed_ms": 20.0, "status": 429}
            calls.append(exchange(plan, row, call="verify", **cells))
    results.write_plan(plan)
    results.create_part(layout.exchanges_name(plan.run_id, plan.run_date, 0, 1), "exchanges", calls)
    ended = TEN + timedelta(seconds=10 * rows - 8 + 2 + verify_ms / 1000 + 1)
    times = {"started_at": TEN, "finished_at": ended}
    end_leg(results, plan, accepted=rows, calls=(2 + refused) * rows + 4, **times | counts)


def test_times_are_those_of_the_newest_leg_of_enough_rows(results: Results) -> None:
    """A leg of three rows may be a special case."""
    add_leg(results, 1, rows=30, verify_ms=900.0)
    add_leg(results, 2, rows=20, verify_ms=400.0)
    add_leg(results, 3, rows=3, verify_ms=50.0)

    found = observed_service(results, "beta", None, [])

    assert found is not None
    assert (found.rows, set(found.verify_seconds), set(found.slot_seconds)) == (20, {0.4}, {0.1})
    assert "leg 1" in found.origin
    assert observed_service(results, "production", None, []) is None


def test_the_lane_is_that_of_the_newest_leg_that_reached_it(results: Results) -> None:
    """A leg without a 429 shows no lane; the time besides its rows is measured all the same."""
    add_leg(results, 1, rows=20, verify_ms=400.0, refused=1, rate_learned=12.5)
    add_leg(results, 2, rows=20, verify_ms=300.0)

    found = observed_service(results, "beta", None, [])

    assert found is not None
    assert (found.lane.rate, set(found.verify_seconds)) == (12.5, {0.3})
    assert found.overhead_seconds == pytest.approx(3.0, abs=0.01)


def test_a_sample_comes_before_the_legs_and_the_least_cpu_time_counts(results: Results) -> None:
    """A leg that waits for its lane spends CPU time on waiting."""
    add_leg(results, 1, rows=20, verify_ms=400.0)
    seen = ObservedService(origin="a sample of 20", rows=20, lane=ObservedLane(fastest=3.0))
    sample = Measurement(rows=20, seconds=4.5, calls=42, cpu_seconds=0.4, service=seen)
    slow = Measurement(rows=10, seconds=100.0, calls=42, cpu_seconds=5.0)

    found = observed_service(results, "beta", sample, [sample, slow])

    assert found is not None
    assert (found.origin, found.cpu_seconds) == ("a sample of 20", 0.02)


def test_a_leg_without_calls_shows_nothing(results: Results) -> None:
    """Its rows were ineligible."""
    end_leg(results, plan_of_run("20261120T100000Z_aaaaaa"), ineligible=3)

    assert observed_service(results, "beta", None, []) is None
