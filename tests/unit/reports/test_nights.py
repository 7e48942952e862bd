"""A night is what its run did."""

from dataclasses import replace

from proofsweep.queries.nights import nights_of
from proofsweep.store.parts import Results

from ...worlds.ended_runs import answered, end_leg, plan_of_run

TIMES = {"started_at": "2026-11-20T02:00:00+00:00", "finished_at": "2026-11-20T02:03:00+00:00"}


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
