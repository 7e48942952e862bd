"""The measures of a report are those of its run's rows."""

import pytest

from proofsweep.queries.nights import measures_of
from proofsweep.store.parts import Results

from ...worlds.reported_store import PLAN, fill


def test_a_run_is_measured_over_time_and_over_its_rows(results: Results) -> None:
    """Points are at least a second apart; a file that took more than two calls is named."""
    measures = measures_of(fill(results), PLAN)

    assert sum(float(str(point["calls"])) * int(str(point["step"])) for point in measures.pace) == pytest.approx(5)
    assert sum(float(str(point["throttled"])) * int(str(point["step"])) for point in measures.pace) == pytest.approx(1)
    assert sum(float(str(point["failed"])) * int(str(point["step"])) for point in measures.pace) == pytest.approx(1)
    assert {point["verify"] for point in measures.pace} == {10.0, None}
    assert measures.grades == [
        {"grade": "ai", "tenth": 0.0, "files": 3},
        {"grade": "human", "tenth": 0.9, "files": 3},
    ]
    assert measures.classifications == [{"label": "<b>mixed</b>", "files": 3}]
    assert measures.risks == [{"label": "low", "files": 3}]
    assert [row["seconds"] for row in measures.slowest] == [0.2, 0.1]
    assert measures.retried == [{"audio": "/c/4", "calls": 9}]


def test_a_run_without_rows_measures_nothing(results: Results) -> None:
    """It was planned, and never begun."""
    results.write_plan(PLAN)

    measures = measures_of(results, PLAN)

    assert (measures.pace, measures.grades, measures.slowest) == ([], [], [])
