"""What legs leave follows them, heals by itself, never fails a leg, and tells a forecast what they took."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import Plan
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.verify.history import learned_rate, newest_measurement, record_leg

from ...worlds.core import begin_leg, write_receipt
from ...worlds.ended_runs import answered, end_leg, plan_of_run

RUNS = [f"202611{day:02}T120000Z_000aa" for day in range(1, 6)]
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
WEEK_AGO = NOON - timedelta(days=7)
URL = "https://partner.example/v1"


class FullStore(FolderStore):
    """A store that is full where derived objects lie."""

    def replace(self, name: str, content: bytes) -> None:
        if name.startswith("_index"):
            raise ResultsError("The disk is full.")
        super().replace(name, content)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(FolderStore(tmp_path))


def end(results: Results, run_id: str) -> Plan:
    plan = plan_of_run(run_id)
    end_leg(results, plan, [answered(plan, 0, "a")])
    return plan


def entries_of_legs(results: Results) -> dict[str, list[int | None]]:
    records = results.log.runs().records
    return {run_id: [leg.entry for leg in record.legs] for run_id, record in records.items()}


def test_a_full_store_does_not_fail_a_leg_and_the_next_leg_heals(tmp_path: Path, results: Results) -> None:
    """The log has the leg, so the next one knows what the checkpoint lacks."""
    record_leg(Results(FullStore(tmp_path)), end(results, RUNS[0]))
    before = list(tmp_path.glob("_index/*"))

    record_leg(results, end(results, RUNS[1]))

    assert before == []
    assert len(list(tmp_path.glob("_index/*"))) == 1
    assert entries_of_legs(Results(results.store)) == {RUNS[0]: [3], RUNS[1]: [6]}


@pytest.mark.parametrize(
    ("legs", "rate"),
    [
        # A leg that was never throttled has learned none.
        ([{"rate_learned": 5.0}, {"rate_learned": 20.0}, {"rate_learned": None}], 20.0),
        # Another key and another service have lanes of their own.
        ([{"rate_learned": 5.0}, {"rate_learned": 7.0, "key_fingerprint": "x"}], 5.0),
        ([{"rate_learned": 5.0}, {"rate_learned": 9.0, "base_url_host": "other.example"}], 5.0),
        ([{"rate_learned": 7.0, "key_fingerprint": "x"}], None),
        # A lane changes in time.
        ([{"rate_learned": 5.0, "finished_at": WEEK_AGO - timedelta(seconds=1)}], None),
    ],
)
def test_what_an_earlier_leg_learned_of_the_lane_spares_the_search(
    results: Results, legs: list[dict[str, object]], rate: float | None
) -> None:
    """The newest leg of this key that learned a rate counts."""
    lane = {"base_url_host": "partner.example", "key_fingerprint": "abc", "finished_at": NOON}
    for run_id, leg in zip(RUNS, legs, strict=False):
        end_leg(results, plan_of_run(run_id), **lane | leg)

    assert learned_rate(results, URL, "abc", WEEK_AGO + timedelta(days=7)) == rate


def test_a_rate_is_kept_for_days_however_many_legs_were_refused_no_call(results: Results) -> None:
    """A watched folder has a leg in each pass."""
    lane = {"base_url_host": "partner.example", "key_fingerprint": "abc"}
    for number in range(14):
        plan = plan_of_run(f"202611{number + 1:02}T120000Z_000aa")
        end_leg(results, plan, **lane, rate_learned=None if number else 5.0, finished_at=NOON + timedelta(hours=number))

    learned = [learned_rate(results, URL, "abc", NOON + timedelta(days=days)) for days in (7, 8)]

    assert learned == [5.0, None]


def test_the_rate_of_an_old_run_that_was_resumed_last_counts(results: Results) -> None:
    lane = {"base_url_host": "partner.example", "key_fingerprint": "abc"}
    end_leg(results, plan_of_run(RUNS[0]), **lane, rate_learned=5.0, finished_at=NOON + timedelta(hours=2))
    end_leg(results, plan_of_run(RUNS[1]), **lane, rate_learned=9.0, finished_at=NOON)

    assert learned_rate(results, URL, "abc", NOON + timedelta(days=1)) == 5.0


def leave_measured(results: Results, plan: Plan, leg: int, hour: int, rows: int, **told: object) -> None:
    """Leave a leg behind that verified so many rows in an hour."""
    begin_leg(results, plan, leg)
    times = {"started_at": NOON.replace(hour=hour), "finished_at": NOON.replace(hour=hour + 1)}
    counts = {"accepted": rows, "calls": 42, "bytes_sent": 100} | times
    write_receipt(results, plan, leg, {"ended_by": "window", "row_seconds": [1.0, 0.5], "counts": counts} | told)


def test_duplicates_in_an_earlier_catalog_do_not_lower_the_cost(results: Results) -> None:
    """Thirty rows, one of them answered by another's verification, cost what 29 rows cost."""
    results.write_plan(plan := plan_of_run(RUNS[0]))
    leave_measured(results, plan, 1, 12, 30, duplicates=1)

    measured = newest_measurement(results, "beta")

    assert measured is not None
    assert (measured.rows, measured.call_seconds) == (29, 1.0)
    assert newest_measurement(results, "production") is None


def test_legs_of_partitions_that_worked_at_once_are_measured_together(results: Results) -> None:
    """What each did was a part of what link and lane let through. A leg of few files is passed over."""
    results.write_plan(plan := replace(plan_of_run(RUNS[0], items=60), partitions=2))
    for leg, hour, rows in ((1, 13, 20), (2, 13, 20), (3, 15, 3)):
        leave_measured(results, plan, leg, hour, rows)

    measured = newest_measurement(results, "beta")

    assert measured is not None
    assert (measured.rows, measured.calls, measured.sent_bytes, measured.call_seconds) == (40, 84, 200, 1.0)
