"""The measures of a report are those of its run's rows."""

from dataclasses import replace

import pytest

from proofsweep.queries.nights import measures_of, nights_of
from proofsweep.store.parts import Results

from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ...worlds.reported_store import PLAN, fill

TIMES = {"started_at": "2026-11-20T02:00:00+00:00", "finished_at": "2026-11-20T02:03:00+00:00"}


def test_a_run_is_measured_over_time_and_over_its_rows(results: Results) -> None:
    """Points are at least a second apart; a file that took more than two calls is named."""
    measures = measures_of(fill(results), PLAN)

    assert sum(float(str(point["calls"])) * int(str(point["step"])) for point in measures.pace) == pytest.approx(5)
    assert sum(float(str(point["throttled"])) * int(str(point["step"])) for point in measures.pace) == pytest.approx(1)
    assert sum(float(str(point["failed"])) * int(str(point["step"])) for point in measures.pace) == pytest.approx(1)
    assert {point["verify"] for point in measures.pace} == {10.0, None}
    assert measures.grades == [{"grade": "ai", "tenth": 0.0, "files": 3}, {"grade": "human", "tenth": 0.9, "files": 3}]
    assert measures.classifications == [{"label": "<b>mixed</b>", "files": 3}]
    assert measures.risks == [{"label": "low", "files": 3}]
    assert [row["seconds"] for row in measures.slowest] == [0.2, 0.1]
    assert measures.retried == [{"audio": "/c/4", "calls": 9}]


def test_a_run_without_rows_measures_nothing(results: Results) -> None:
    """It was planned, and never begun."""
    results.write_plan(PLAN)

    measures = measures_of(results, PLAN)

    assert (measures.pace, measures.grades, measures.slowest) == ([], [], [])


def test_a_night_counts_the_rows_of_its_run(results: Results) -> None:
    """Not those that were not due."""
    plan = replace(plan_of_run("20261120T020000Z_000aa", 10), skipped=90)
    kinds = ["accepted"] * 3 + ["rejected", "ineligible", "failed"]
    end_leg(results, plan, [answered(plan, row, str(row), kind) for row, kind in enumerate(kinds)], calls=12, **TIMES)

    (night,) = nights_of(results, "beta", None)

    assert (night.checked, night.remaining, night.calls, night.minutes) == (6, 4, 12, 3.0)


def test_a_pass_is_a_night(results: Results) -> None:
    """Runs of another environment or catalog, and those that never began, are none here."""
    part = plan_of_run("20261119T020000Z_000aa", 1, catalog_kind="ingest")
    other = plan_of_run("20261120T020000Z_000aa", 1, environment="production")
    elsewhere = plan_of_run("20261121T020000Z_000aa", 1, catalog="/d")
    for plan in (part, other, elsewhere):
        end_leg(results, plan, [answered(plan, 0, "a")])
    results.write_plan(plan_of_run("20261122T020000Z_000aa", 1))

    assert [night.run_id for night in nights_of(results, "beta", None)] == [part.run_id, elsewhere.run_id]
    assert [night.run_id for night in nights_of(results, "beta", part.catalog)] == [part.run_id]
